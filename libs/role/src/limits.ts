/** Why: the bounds of a process's life, each with its reason. */

/** Most series one metric may have: a label that multiplies beyond this is not a closed set, and would flood whoever scrapes. */
export const METRIC_SERIES_MAX = 1000;

/** How often the event loop's delay is sampled: coarse enough to cost nothing, fine enough to see a stall that callers feel. */
export const EVENT_LOOP_SAMPLE_MS = 20;

/** Spans waiting for export; more are dropped and counted, because tracing must never hold up invocations. */
export const SPANS_QUEUED_MAX = 4096;

/** Spans sent in one request. */
export const SPANS_PER_EXPORT_MAX = 512;

/** Failures of one process that are logged: the first is the one that matters, the next may help to understand it. */
export const FAILURES_TOLD_MAX = 10;
