/**
 * Why: batches of hostile connections to one listener after the other. After each batch the program must be the same process, answer a
 * healthy request, and have given back file descriptors and memory. A batch that fails is narrowed to one connection by its seed.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type DrawnConnection, sendConnection } from "./connection.js";
import { connectionsOf, descriptorsOf, residentMiBOf } from "./descriptors.js";
import { drawConnection } from "./draw.js";
import * as limits from "./limits.js";
import { type Target, untilHealthy } from "./subject.js";

export interface FuzzOptions {
  readonly seed: number;
  /** Number of connections to each listener. */
  readonly connections: number;
  readonly batch?: number;
  /** Time that a program may take to close what a batch left; shorter for tests of the fuzzer. */
  readonly drainMs?: number;
  readonly progress?: (line: string) => void;
}

export interface TargetResult {
  readonly target: string;
  readonly connections: number;
  readonly seconds: number;
  /** Before the first batch and after the last. */
  readonly descriptors: readonly [number, number];
  /** Memory after the first batch and after the last. */
  readonly memoryMiB: readonly [number, number];
}

/** Bounds that a program must not exceed; the first batch warms the program up. */
interface Baseline {
  readonly pid: number;
  readonly descriptors: number;
  /** Open connections at the listener, and sockets that are left over. */
  readonly connections: number;
  readonly drainMs: number;
  memoryMiB: number | undefined;
}

/** Rejects with a report (seed, listener, connection) when a program does not survive or does not recover. */
export async function fuzzTarget(target: Target, options: FuzzOptions): Promise<TargetResult> {
  const { seed, connections, batch = limits.BATCH_CONNECTIONS, progress = () => undefined } = options;
  await untilHealthy(target);
  const startMs = performance.now();
  const { pid: atStart } = target.subject;
  const baseline: Baseline = {
    pid: atStart,
    descriptors: descriptorsOf(atStart),
    connections: connectionsOf(atStart, target.port?.()),
    drainMs: options.drainMs ?? limits.DRAIN_MS,
    memoryMiB: undefined,
  };
  let firstMemoryMiB = 0;
  let sent = 0;
  for (let first = 0; first < connections; first += batch) {
    const last = Math.min(connections, first + batch);
    let count = 0;
    const problem = await target.send(drawn(target, seed, first, last)).then(
      (number) => {
        count = number;
        return findProblem(target, baseline);
      },
      async (cause: Error) => {
        await becomesTrue(() => !target.subject.isRunning, limits.DEATH_MS);
        return (await findProblem(target, baseline)) ?? `the listener takes no connections: ${cause.message}`;
      },
    );
    if (problem !== undefined) throw new Error(await report(target, { seed, first, last, problem, baseline }));
    sent += count;
    baseline.memoryMiB ??= residentMiBOf(target.subject.pid);
    firstMemoryMiB ||= baseline.memoryMiB;
    progress(`${target.name}: ${sent} of ${connections}`);
    if (count === 0) break; // Nothing dials any more.
  }
  const { pid } = target.subject;
  return {
    target: target.name,
    connections: sent,
    seconds: (performance.now() - startMs) / 1000,
    descriptors: [baseline.descriptors, descriptorsOf(pid)],
    memoryMiB: [firstMemoryMiB, residentMiBOf(pid)],
  };
}

function* drawn({ name, speech, requests }: Target, seed: number, first: number, last: number): Generator<DrawnConnection> {
  for (let index = first; index < last; index++) yield drawConnection(seed, name, index, speech, requests);
}

/** Returns the problem of the program after a batch; undefined when there is none. */
async function findProblem(target: Target, baseline: Baseline): Promise<string | undefined> {
  const { subject } = target;
  const death = (): string | undefined => {
    if (!subject.isRunning) return `${subject.name} ended:\n${subject.lastLines.join("\n")}`;
    return subject.pid === baseline.pid ? undefined : `${subject.name} is another process`;
  };
  const dead = death();
  if (dead !== undefined) return dead;
  try {
    await target.healthy();
  } catch (cause) {
    return death() ?? `a healthy request fails: ${(cause as Error).message}\n${subject.lastLines.join("\n")}`;
  }
  const { pid, descriptors, connections, drainMs } = baseline;
  const leftOver = (): number => connectionsOf(pid, target.port?.()) - connections;
  if (!(await becomesTrue(() => leftOver() <= limits.CONNECTIONS_MORE_MAX, drainMs)))
    return death() ?? `${leftOver()} connections are left after ${drainMs / 1000} s`;
  if (!(await becomesTrue(() => descriptorsOf(pid) <= descriptors + limits.DESCRIPTORS_MORE_MAX, drainMs)))
    return death() ?? `${descriptorsOf(pid)} file descriptors are open after ${drainMs / 1000} s, ${descriptors} were before`;
  const memoryMiB = residentMiBOf(baseline.pid);
  if (baseline.memoryMiB !== undefined && memoryMiB > baseline.memoryMiB + limits.MEMORY_MORE_MIB_MAX)
    return `${memoryMiB} MiB are resident, ${baseline.memoryMiB} were after the first batch`;
  return undefined;
}

/** Whether it holds within this time. */
async function becomesTrue(holds: () => boolean, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > deadline) return false;
    await delay(limits.DRAIN_POLL_MS);
  }
  return true;
}

interface Failure {
  readonly seed: number;
  readonly first: number;
  readonly last: number;
  readonly problem: string;
  readonly baseline: Baseline;
}

async function report(target: Target, failure: Failure): Promise<string> {
  const { seed, first, last, problem } = failure;
  const replay = `make fuzz SEED=${seed} FILTER='${target.name}' CONNECTIONS=${last}`;
  const narrowed =
    target.port === undefined
      ? "The program dials the fuzzer: connections are not replayed one by one."
      : await narrow(target, target.port, failure);
  return `${target.name}, connections ${first} to ${last - 1} of seed ${seed} (${replay}): ${problem}\n${narrowed}`;
}

/** Sends the connections of the batch one by one until one of them breaks the program again. */
async function narrow(target: Target, port: () => number, { seed, first, last, baseline }: Failure): Promise<string> {
  const { subject } = target;
  await subject.restart();
  await untilHealthy(target);
  const { pid } = subject;
  const before = connectionsOf(pid, port());
  const isClosed = (): boolean => connectionsOf(pid, port()) <= before;
  for (let index = first; index < last; index++) {
    const connection = drawConnection(seed, target.name, index, target.speech, target.requests);
    await sendConnection(port(), connection).catch(() => undefined);
    // An answer shows that the program has dealt with what came before.
    const isHealthy = await target.healthy().then(
      () => true,
      () => false,
    );
    if (!isHealthy) await becomesTrue(() => !subject.isRunning, limits.DEATH_MS);
    if (!subject.isRunning || subject.pid !== pid) return `Connection ${index} ends it: ${shown(connection)}`;
    if (!isHealthy) return `A healthy request fails after connection ${index}: ${shown(connection)}`;
    if (!isClosed() && !(await becomesTrue(isClosed, baseline.drainMs)))
      return `Connection ${index} stays open for more than ${baseline.drainMs / 1000} s: ${shown(connection)}`;
  }
  return "One by one the connections of this batch do no harm: it takes several at a time.";
}

function shown({ kind, segments, holdMs, ending }: DrawnConnection): string {
  const bytes = segments.map((segment) => segment.toString("hex")).join(" | ");
  const text = bytes.length > limits.SHOWN_BYTES_MAX ? `${bytes.slice(0, limits.SHOWN_BYTES_MAX)}…` : bytes;
  return `${kind}, then ${holdMs} ms, ${ending}\n${text}`;
}
