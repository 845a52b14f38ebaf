/**
 * The program that a user runs in a terminal to have a group of programs: it stops what an earlier one left behind, starts the group,
 * keeps it up until it is interrupted, and stops it. Another command can stop the group from elsewhere.
 */
import { mkdirSync } from "node:fs";
import { STOP_SIGNALS } from "./foreground.js";
import { ProcessGroup } from "./process-group.js";
import { isAlive, Record } from "./record.js";
import { stopListed } from "./stop-listed.js";

export interface SupervisedPlace {
  /** Name of the group in messages, e.g. `cluster`. */
  readonly what: string;
  /** Has the list of the processes. */
  readonly directory: string;
  /** Command that a user types to stop the group from elsewhere. */
  readonly stopCommand: string;
  /** Stops programs that are not on the list, when those on the list have ended; resolves with their names. */
  readonly stopOthers?: () => Promise<readonly string[]>;
}

export interface SupervisedWork {
  /** Starts everything; resolves with whether it did what it should. */
  run(group: ProcessGroup): Promise<boolean>;
  /** Called when everything runs and stays up; absent: it is stopped at once. */
  readonly onUp?: () => void;
}

/** Shows to the user what happens. */
export interface SupervisionMessages {
  leftovers(names: readonly string[]): void;
  restarted(text: string): void;
  failed(cause: unknown): void;
  stopping(): void;
}

/** Resolves with the exit code when everything is stopped again. Rejects when another program supervises this place. */
export async function supervise(place: SupervisedPlace, work: SupervisedWork, messages: SupervisionMessages): Promise<number> {
  mkdirSync(place.directory, { recursive: true });
  const record = new Record(place.directory);
  const { supervisor } = record;
  if (supervisor !== undefined && isAlive(supervisor)) {
    throw new Error(
      `a ${place.what} is running in ${place.directory} already (process ${supervisor.pid}); '${place.stopCommand}' stops it`,
    );
  }
  const leftovers = await stopRemains(record, place);
  if (leftovers.length > 0) messages.leftovers(leftovers);
  record.add("supervisor", process.pid);

  const interrupted = Promise.withResolvers<"interrupted">();
  for (const signal of STOP_SIGNALS) process.on(signal, () => interrupted.resolve("interrupted"));
  const group = new ProcessGroup(record);
  let exitCode = 0;
  try {
    const succeeded = await Promise.race([work.run(group), interrupted.promise]);
    if (succeeded === false) exitCode = 1;
    if (succeeded === true && work.onUp !== undefined) {
      work.onUp();
      await stayUp(group, interrupted.promise, messages);
    }
  } catch (cause) {
    messages.failed(cause);
    exitCode = 1;
  }
  messages.stopping();
  await group.stop();
  return exitCode;
}

async function stayUp(group: ProcessGroup, interrupted: Promise<unknown>, messages: SupervisionMessages): Promise<void> {
  const stop = new AbortController();
  const watching = group.watch(stop.signal, (text) => messages.restarted(text));
  await Promise.race([interrupted, watching]).finally(() => stop.abort());
  await watching;
}

/**
 * Stops the group of this place from another process than its supervisor. `stopped`: number of processes that ran; `leftovers`: names of
 * those that no supervisor stopped.
 */
export async function stopSupervised(
  place: SupervisedPlace,
): Promise<{ readonly stopped: number; readonly leftovers: readonly string[] }> {
  const record = new Record(place.directory);
  const stopped = record.alive().length;
  return { stopped, leftovers: await stopRemains(record, place) };
}

async function stopRemains(record: Record, { stopOthers }: SupervisedPlace): Promise<readonly string[]> {
  const listed = await stopListed(record);
  return [...listed, ...((await stopOthers?.()) ?? [])];
}
