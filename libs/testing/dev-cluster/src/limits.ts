/** Bounds of clusters and clouds on one machine, each with the reason for its value. */

/** Timeout of the start of a role, which takes two seconds, and more on a small, busy machine. */
export const READY_MS_MAX = 120_000;
/** Time between SIGTERM and SIGKILL of a role under test, which drains its listeners while clients hold requests open. */
export const STOP_MS_MAX = 80_000;
/** Timeout of building the bundles, which takes about two seconds; another process may be building them. */
export const BUILD_MS_MAX = 120_000;
/** Pause between two polls: short enough to go unnoticed. */
export const POLL_MS = 50;
/** Timeout for the distribution of partitions, which takes a second or two once all workers run. */
export const BALANCED_MS_MAX = 30_000;
/** Timeout of a scrape of a worker's metrics; a request that takes longer is repeated. */
export const METRICS_MS_MAX = 2_000;
