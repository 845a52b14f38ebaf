/** Bounds of the management commands, each with its reason. Milliseconds end in `Ms`. */

/** Default number of rows of a list: a screen or two. */
export const LIST_ROWS_DEFAULT = 50;
/** Most rows that a list requests; use `perdure sql` for more. */
export const LIST_ROWS_MAX = 10_000;
/** Characters to which `sql` cuts cells where the terminal is too narrow: the id of an invocation stays whole. */
export const SQL_CELL_CHARS = 40;
/** Pause between two polls of `watch` and `logs --follow`: quick for users, cheap for the server. */
export const POLL_PAUSE_MS = 400;
/** The longest pause between polls, when nothing has changed for long: a wait of days needs no two polls a second. */
export const POLL_PAUSE_MS_MAX = 3_000;
/** Pause between two polls of a batch. */
export const BATCH_PAUSE_MS = 250;
/** Failures of a batch that are shown; the rest is counted. */
export const FAILURES_SHOWN_MAX = 20;
/** Pages of results of a batch that are read: 10,000 failures are more than a user reads. */
export const RESULT_PAGES_MAX = 100;
/** Time until an edit of state that is not visible yet is reported as waiting for a handler. */
export const STATE_APPLIED_MS = 1_500;
/** Pause between two checks whether an edit is visible. */
export const STATE_PAUSE_MS = 50;
/** Last steps of a timeline that one frame shows; the terminal's height may allow fewer. */
export const STEPS_SHOWN_MAX = 200;
/** Pages of a timeline that a description reads, of 1000 steps each. */
export const TIMELINE_PAGES_MAX = 20;
/** Most lines of history of an interactive prompt, for the arrow keys. */
export const HISTORY_LINES_MAX = 200;
/** A call that takes longer than this is reported with its id: long enough for most handlers to have answered. */
export const CALL_SILENCE_MS = 2_000;
/** Searches for the invocation of a call by its trace id, each of which reads the invocations of its service. */
export const CALL_SEARCHES_MAX = 3;

/** Levels of calls below the two invocations of a comparison, and … */
export const COMPARED_DEPTH_MAX = 3;
/** … pairs of callees that are compared: two requests each. */
export const COMPARED_CALLS_MAX = 50;
