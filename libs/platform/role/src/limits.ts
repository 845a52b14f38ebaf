/** Bounds of a process, each with its reason. */

/** Most series one metric may have: a label with more values than this is not a closed set, and would overload the scraper. */
export const METRIC_SERIES_MAX = 1_000;

/** Most series of things that come and go: three for each of a thousand environments, and some more. */
export const OBSERVED_SERIES_MAX = 4_000;

/** How often the event loop's delay is sampled: coarse enough to cost nothing, fine enough to see a stall that callers feel. */
export const EVENT_LOOP_SAMPLE_MS = 20;

/** Spans waiting for export; more are dropped and counted, because tracing must never hold up invocations. */
export const SPANS_QUEUED_MAX = 4096;

/** Spans sent in one request. */
export const SPANS_PER_EXPORT_MAX = 512;

/** Failures of one process that are logged: the first is the important one, the next may help to understand it. */
export const FAILURES_LOGGED_MAX = 10;

/** Between attempts to reach what a starting process stands on: first and longest pause. */
export const AVAILABLE_FIRST_MS = 100;
export const AVAILABLE_LONGEST_MS = 2_000;

/** Time for a probe that is being answered when the process stops; they are short. */
export const PROBES_DRAIN_MS = 500;

/** Attributes that `OTEL_RESOURCE_ATTRIBUTES` may add, and the length of one: each export carries them. */
export const RESOURCE_ATTRIBUTES_MAX = 32;
export const RESOURCE_VALUE_CHARS_MAX = 256;

/** Longest text of a caller in a span: a user agent's name and version, and no room for more. */
export const SPAN_VALUE_CHARS_MAX = 256;

/** How far a time made of two clocks may be from the wall clock, which has whole milliseconds, before it is set anew. */
export const SPAN_CLOCK_DRIFT_MS = 2;

/** Invocations whose first span was recorded, so that their further attempts do not record it again; a few megabytes. */
export const TRACED_INVOCATIONS_MAX = 20_000;

/** How often numbers for metrics are polled: about as often as they are scraped. */
export const POLL_METRICS_MS = 10_000;

/** A span that takes longer is kept, whatever was decided about its trace (kubernetes.md §5.2). */
export const SLOW_SPAN_MS = 5_000;

/** Spans of failures in a second that are kept although their traces were not: enough to find the cause, and no flood. */
export const TAIL_SPANS_PER_SECOND = 20;

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
