/** Bounds between the threads of a server, each with its reason. */

/** A scrape waits this long for a busy thread; then the thread's values of the scrape before count, so that sums never fall. */
export const METRICS_WAIT_MS = 500;
/** A change of the registry is durable; its answer waits at most this long until every thread has the new state. */
export const REGISTRY_WAIT_MS = 2_000;
