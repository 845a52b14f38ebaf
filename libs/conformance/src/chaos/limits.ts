/** Bounds of the rig, each with its reason. */

/** Workers: with one away, two still have somebody to talk to. */
export const WORKERS = 3;
export const GATEWAYS = 2;
/** Callers at work at the same time, each with one invocation under way. */
export const CALLERS_DEFAULT = 300;
/** Counters shared by all callers: few enough that each is fought over. */
export const COUNTERS = 60;
/** A caller whose answer has not come by then asks again; far longer than any answer takes in peace. */
export const ANSWER_MS = 20_000;
/** Between two tries of a caller: first and longest. Long enough that 300 callers do not drown who comes back. */
export const TRY_AGAIN_FIRST_MS = 20;
export const TRY_AGAIN_LONGEST_MS = 400;
/** What has not ended by then, counted from when nothing is broken any more, never will. */
export const LOST_AFTER_MS = 90_000;
/** A fault after which nothing has moved by then has not been survived. */
export const PROGRESS_MS_MAX = 60_000;
/** How often the rig looks whether what it waits for is so. */
export const POLL_MS = 20;
/** Violations kept for the report: the first ones tell what happened. */
export const VIOLATIONS_MAX = 50;
/** Bytes kept for a direction that is held up: a cut cable does not take more than the window of a connection. */
export const HELD_BYTES_MAX = 1024 * 1024;
/** Longer than a lease of default length, so that somebody else leads when a frozen worker wakes. */
export const FREEZE_MS = 4_000;
