/**
 * The ports between the threads of a server: one for each thread and each other thread that it calls. Only the main thread (0) calls itself,
 * too: it reads the rows of all threads in the same way.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";

/** Address of a thread among those that lead partitions. */
export const addressOf = (thread: number): string => `thread:${thread}`;

/** The ends that belong to one thread. */
export interface ThreadPorts {
  /** By the number of the thread that is called. */
  readonly calling: readonly (MessagePort | undefined)[];
  readonly serving: readonly MessagePort[];
}

/** The ports of each thread, by its number. */
export function portsBetween(threads: number): readonly ThreadPorts[] {
  const calling: (MessagePort | undefined)[][] = Array.from({ length: threads }, () => Array(threads).fill(undefined));
  const serving: MessagePort[][] = Array.from({ length: threads }, () => []);
  for (const [caller, ports] of calling.entries()) {
    for (const [callee, served] of serving.entries()) {
      if (caller === callee && caller !== 0) continue;
      const { port1, port2 } = new MessageChannel();
      ports[callee] = port1;
      served.push(port2);
    }
  }
  return calling.map((ports, thread) => ({ calling: ports, serving: serving[thread] ?? [] }));
}

/** What is transferred to a thread together with its ports. */
export function transfersOf({ calling, serving }: ThreadPorts): readonly MessagePort[] {
  return [...calling.filter((port) => port !== undefined), ...serving];
}
