/** All bounds of these pages, each with the reason for its value. */

/** Poll interval of an invocation that is not finished: users see steps come, and the load on a server is negligible. */
export const WATCH_MS = 1_000;

/** Children in children that unfold in place. Real chains are shorter; for deeper ones there is the child's own page. */
export const DEPTH_MAX = 16;

/** Children unfolded at once: each is requested again every second while it runs. */
export const UNFOLDED_MAX = 40;

/** Pages of steps (1,000 each) that one timeline holds: a browser can show them, and more are unreadable in one place. */
export const STEP_PAGES_MAX = 50;

/** Attempts that have rows of their own; more of them share one row until the user unfolds it. */
export const ATTEMPT_ROWS_MAX = 4;

/** The shortest visible range: the server counts in milliseconds. */
export const WINDOW_MS_MIN = 1;

/** Characters of a value that are shown before the user requests all of it. */
export const VALUE_CHARS_MAX = 1_500;

/** Bytes of a value that are shown as hexadecimal digits before the user requests all of it. */
export const HEX_BYTES_MAX = 256;

/** Lines of a stack that are shown before the user unfolds it: the user's own frames are the first. */
export const FRAMES_SHOWN_MAX = 3;

/** Raw entries of the journal on one page. */
export const RAW_ENTRIES_MAX = 100;

/** Failures that are requested: the server keeps fewer. */
export const EVENTS_MAX = 200;

/** Parts of the critical path that are listed: the rest is seldom worth an improvement. */
export const PATH_PARTS_MAX = 3;

/** Rows that are rendered outside of the window, so that scrolling shows no holes. */
export const OVERSCAN_ROWS = 12;

/** A value up to this size is loaded when it is shown; a longer one when the user requests it. */
export const VALUE_BYTES_UNASKED = 64 * 1024;

/** Steps on one page of the journal's table. */
export const JOURNAL_ROWS_MAX = 100;

/** Steps in the choice of where to restart from: more are found by their name. */
export const RESTART_CHOICES_MAX = 100;

/** Callers above an invocation whose names are loaded for its head. */
export const CALLERS_MAX = 8;

/** Failed attempts that are shown before the user requests all: they mostly fail for the same reason. */
export const FAILURES_SHOWN_MAX = 3;

/** Like steps in a row that share a row of the timeline: fewer are read as quickly one by one. */
export const GROUPED_STEPS_MIN = 10;

/** Number of steps from which on a timeline has a search field: fewer fit on one screen. */
export const SEARCHED_STEPS_MIN = 20;

/** Rows for awaited awakeables and signals: a handler that awaits more of them lists them in its code. */
export const WAITS_SHOWN_MAX = 20;

/** Bars of the minimap: some five pixels each in a usual window. */
export const MINIMAP_BARS = 160;

/** Attempts in the list of choices: the newest, as many as fit a window. */
export const CHOSEN_ATTEMPTS_MAX = 50;

/** The axis stays visible above the rows; the same height as in `timeline.css`. */
export const AXIS_PX = 28;
