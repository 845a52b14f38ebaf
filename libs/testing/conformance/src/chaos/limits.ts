/** Bounds of the rig, each with its reason. */

/** Workers: without one of them, two remain. */
export const WORKERS = 3;
export const GATEWAYS = 2;
/** Concurrent callers, each with one invocation in progress. */
export const CALLERS_DEFAULT = 300;
/** Counters shared by all callers: few enough for contention on each. */
export const COUNTERS = 60;
/** Timeout after which a caller retries; far longer than any answer takes without faults. */
export const ANSWER_MS = 20_000;
/** First and longest pause between two attempts of a caller: long enough that 300 callers do not overload a process that restarts. */
export const TRY_AGAIN_FIRST_MS = 20;
export const TRY_AGAIN_LONGEST_MS = 400;
/** An invocation that has not ended in this time after the last fault counts as lost. */
export const LOST_AFTER_MS = 90_000;
/** A fault without progress in this time counts as not survived. */
export const PROGRESS_MS_MAX = 60_000;
/** Interval of polling. */
export const POLL_MS = 20;
/** Violations in the report: the first ones show the cause. */
export const VIOLATIONS_MAX = 50;
/** Delayed bytes of one direction: a cut cable accepts no more than the window of a connection. */
export const HELD_BYTES_MAX = 1024 * 1024;
/** Longer than a lease of default length, so that another worker leads when a frozen one resumes. */
export const FREEZE_MS = 4_000;
/** Longest wait for the refusal of a delayed commit. */
export const REFUSAL_MS_MAX = 30_000;
