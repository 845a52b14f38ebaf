/** Bounds of logs, metrics and traces, each with its reason. */

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

/** Attributes that `OTEL_RESOURCE_ATTRIBUTES` may add, and the length of one: each export carries them. */
export const RESOURCE_ATTRIBUTES_MAX = 32;
export const RESOURCE_VALUE_CHARS_MAX = 256;

/** Longest text of a caller in a span: enough for a user agent's name and version. */
export const SPAN_VALUE_CHARS_MAX = 256;

/** How far a time made of two clocks may be from the wall clock, which has whole milliseconds, before it is set anew. */
export const SPAN_CLOCK_DRIFT_MS = 2;

/** Invocations whose first span was recorded, so that their further attempts do not record it again; a few megabytes. */
export const TRACED_INVOCATIONS_MAX = 20_000;

/** A span that takes longer is kept, whatever was decided about its trace (kubernetes.md §5.2). */
export const SLOW_SPAN_MS = 5_000;

/** Spans of failures in a second that are kept although their traces were not: enough to find the cause, and no flood. */
export const TAIL_SPANS_PER_SECOND = 20;
