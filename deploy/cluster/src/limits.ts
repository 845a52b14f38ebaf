/** Bounds of running a cluster on one machine, each with the reason for its value. */

/** The greeter listens in half a second, later on a small, busy machine. */
export const READY_MS_MAX = 120_000;
/** Pause between two polls: too short for a user to notice. */
export const POLL_MS = 50;
/** Timeout for the distribution of partitions, which takes a second or two once both workers run. */
export const BALANCED_MS_MAX = 30_000;
/** An answer of a worker's metrics; a request that takes longer is repeated. */
export const METRICS_MS_MAX = 2_000;
/** Results of calls with an idempotency key are kept for a day; the demo requests its own only within that time. */
export const RESULT_AGE_MS_MAX = 20 * 3_600_000;
/** From a worker's death to progress on its partitions: leases run out in three seconds. Then the steps that are left. */
export const DEMO_MS_MAX = 60_000;
/** Pause before an ended greeter is restarted, so that one that ends at once does not use up the processor. */
export const GREETER_PAUSE_MS = 1_000;
/** Restarts of the greeter while a cluster runs; after more it is broken. */
export const GREETER_RESTARTS_MAX = 100;
