/**
 * Counts of the invocations of a partition by status, and of its timers. They are read often, so they are not counted for each read: a
 * leader counts once, during the scan for invocations to resume, and then adds and subtracts.
 */
import type { Invocation } from "@perdure/state-machine";

/** Counts of one partition, or sums over several. Completed invocations and retention timers are not counted. */
export type Population = Record<Exclude<Invocation["status"], "completed"> | "timers", number>;

/** Returns counts that are all zero. */
export function newPopulation(): Population {
  return { scheduled: 0, inboxed: 0, invoked: 0, suspended: 0, ready: 0, paused: 0, timers: 0 };
}
