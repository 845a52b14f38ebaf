/** Bounds of the process, with their reasons. */

/** Running requests get this long when the process ends: less than the timeout of the official command line. */
export const DRAIN_MS = 10_000;
/** Series of environment counts by plan and state: a platform has a handful of plans, and an environment a dozen states. */
export const ENVIRONMENT_SERIES_MAX = 200;
