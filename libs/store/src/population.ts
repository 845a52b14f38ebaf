/**
 * Why: how many invocations a partition has in each status and how many timers wait is asked for often and must not be counted each time.
 * A leader counts once, while it looks for what to take up anyway, and from then on adds and subtracts.
 */
import type { Invocation } from "@perdure/partition";

/** Of one partition, or of several together. Completed invocations are not counted; timers are those that somebody waits for. */
export type Population = Record<Exclude<Invocation["status"], "completed"> | "timers", number>;

/** All zero. */
export function newPopulation(): Population {
  return { scheduled: 0, inboxed: 0, invoked: 0, suspended: 0, ready: 0, paused: 0, timers: 0 };
}
