/** Bounds of a process, each with its reason. */

/** Failures of one process that are logged: the first is the important one, the next may help to understand it. */
export const FAILURES_LOGGED_MAX = 10;

/** Between attempts to reach what a starting process stands on: first and longest pause. */
export const AVAILABLE_FIRST_MS = 100;
export const AVAILABLE_LONGEST_MS = 2_000;

/** Time for a probe that is being answered when the process stops; they are short. */
export const PROBES_DRAIN_MS = 500;

/** How often numbers for metrics are polled: about as often as they are scraped. */
export const POLL_METRICS_MS = 10_000;

/** How often a process checks whether it is idle; idle means at most this share of a processor, in this many checks in a row. */
export const IDLE_CHECK_MS = 1_000;
export const IDLE_BUSY_MAX = 0.02;
export const IDLE_CHECKS_MIN = 2;

/**
 * Growth of the old generation that makes a collection worth its pause: some tens of milliseconds for a small process, more for a large
 * one, since live objects are traversed. Both the bytes and the share of the live bytes must be reached.
 */
export const IDLE_GARBAGE_BYTES_MIN = 4 * 1024 * 1024;
export const IDLE_GARBAGE_SHARE_MIN = 0.25;

/** Garbage of large payloads for which the young generation is collected, a millisecond or two; each leaves some five copies of itself. */
export const LARGE_GARBAGE_BYTES = 8 * 1024 * 1024;

/** The old generation may grow by so much between two full collections while large payloads come. */
export const LARGE_GROWTH_BYTES = 96 * 1024 * 1024;

/** Time after the last large buffer until the growth is reset. */
export const LARGE_GROWTH_MS = 5_000;

/**
 * Log lines about uncaught errors of single connections in a window: enough to find the mistake, and no flood when a client causes many.
 */
export const CONNECTION_ERRORS_LOGGED_MAX = 10;
export const CONNECTION_ERRORS_WINDOW_MS = 60_000;

/** How long a durable commit counts for the server's readiness: a tiny write each few seconds at most. */
export const COMMIT_PROBE_EVERY_MS = 5_000;

/** How long a probe waits for a commit: below the 2 s within which orchestrators expect an answer. A commit takes some milliseconds. */
export const COMMIT_PROBE_WAIT_MS = 1_500;
