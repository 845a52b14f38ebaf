/** Bounds of running a cluster on one machine, each with the reason for its value. */

/** Workers of the cluster: the demo needs another one when it kills one, and more than so many only share the same processors. */
export const WORKERS = { fallback: 2, min: 2, max: 8 } as const;
/** Pause between two polls: too short for a user to notice. */
export const POLL_MS = 50;
/** Results of calls with an idempotency key are kept for a day; the demo requests its own only within that time. */
export const RESULT_AGE_MS_MAX = 20 * 3_600_000;
/** Longest time from a worker's death to progress on its partitions: leases expire in two seconds, then the remaining steps run. */
export const DEMO_MS_MAX = 60_000;
