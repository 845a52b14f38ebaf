/** Bounds of `perdure mcp`, each with its reason. Milliseconds end in `Ms`, bytes are those of JSON. */

/** Longest result of a tool: all of it becomes a part of the agent's context. */
export const RESULT_BYTES_MAX = 96 * 1024;
/** Items of a list in one result: leaves space for the fields beside the list. */
export const LIST_BYTES_MAX = 48 * 1024;
/** Attempts, and phases, of a timeline in one result. */
export const HISTORY_BYTES_MAX = 12 * 1024;
/** Characters of one text in a result: a failure with its stack. */
export const TEXT_CHARS_MAX = 4_000;
/** Longest message that an agent may send: statements and lists of ids need some kilobytes. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;

/** Default number of rows of a list. */
export const ROWS_DEFAULT = 50;
/** Most rows of a list; the bytes of a result usually end it earlier. */
export const ROWS_MAX = 1_000;
/** Values of one field of a filter: names of services, of handlers … */
export const FILTER_VALUES_MAX = 100;
/** Characters of one value of a filter: keys have no more. */
export const FILTER_CHARS_MAX = 1_024;
/** Longest SQL statement or condition. */
export const SQL_CHARS_MAX = 10_000;
/** Subscriptions whose state is read for one result: each of them is a request. */
export const SUBSCRIPTIONS_MAX = 100;
/** Partitions without a leader that a result lists. */
export const PARTITIONS_SHOWN_MAX = 50;

/** Most invocations of a plan: as many as a user reads before the confirmation. */
export const PLAN_INVOCATIONS_MAX = 500;
/** Time until a plan expires: what it lists was read when it was made. */
export const PLAN_AGE_MS_MAX = 10 * 60_000;
/** Plans that wait for a confirmation; the oldest one is discarded first. */
export const PLANS_MAX = 20;
/** Time to wait for the end of a batch: clients of the protocol wait 60 s for a result by default. */
export const BATCH_WAIT_MS_MAX = 30_000;
/** Pause between two polls of a batch. */
export const BATCH_POLL_MS = 200;
/** Pages of results of a batch: several times what a plan's invocations fill. */
export const RESULT_PAGES_MAX = 20;

/** Time for the calls in progress when the agent closes stdin. */
export const DRAIN_MS_MAX = 5_000;
