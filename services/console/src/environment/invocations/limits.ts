/** Bounds of the list of invocations, each with its reason. */

/** Rows of one list: browsers draw no box higher than some 17 million pixels, and a row has 64 at most. Their ids are 10 MB. */
export const LISTED_MAX = 250_000;
/** The newest ids, requested first and at each poll: one page on the largest window, and what may arrive between two polls. */
export const HEAD_ROWS = 200;
/** Ids of one page after the head: half a megabyte of text. Each page is a walk over all invocations, so that smaller ones cost the server more. */
export const PAGE_IDS = 20_000;
/** Rows before the end of the list at which the next page is read: a drag of the scrollbar stops there for as long as a page takes. */
export const PAGE_AHEAD_ROWS = 2_000;
/** Ids in one request for visible rows: a point read each, some 50 ms together. */
export const ROWS_AT_ONCE = 100;
/** Rows that are read before they are visible, in both directions. */
export const ROWS_AHEAD = 60;
/** Rows that are read ahead in the direction of travel: two windows, as fast as a wheel turns. */
export const ROWS_AHEAD_MOVING = 180;
/** Rows that are read behind while one moves on: a small step back shows no hole. */
export const ROWS_BEHIND = 20;
/** Rows that are remembered, so that scrolling back shows them at once: a few megabytes. */
export const ROWS_KEPT = 6_000;
/** Pause of scrolling after which rows are requested; rows that pass by faster are not. */
export const SCROLL_DEBOUNCE_MS = 60;
/** A poll of the newest ids reads every invocation; it takes at most this share of the server's time. */
export const HEAD_SHARE = 0.25;
/** Ids in the condition of a batch; a larger selection is sent as ids without a preview. The text of a condition has 16 KiB at most. */
export const CONDITION_IDS_MAX = 300;
/** Ids that a batch takes by name. */
export const BATCH_IDS_MAX = 10_000;
/** Invocations that one batch takes; the server's bound. */
export const BATCH_MAX = 100_000;
/** Rows of one export: some 40 MB of text, as much as a spreadsheet opens. */
export const EXPORTED_MAX = 100_000;
/** Rows of an export per request. */
export const EXPORTED_AT_ONCE = 2_000;
/** Number of invocations from which on an action that cannot be undone needs a typed confirmation. */
export const MANY = 2;
/** Interval at which the counts of the status chips are requested. */
export const COUNTS_MS = 10_000;
/** A count reads every invocation; it takes at most this share of the server's time. */
export const COUNTS_SHARE = 0.05;
/** Views that one browser keeps for an environment: a menu that still fits a window. */
export const VIEWS_MAX = 30;
/** Length of a view's name: a line of the menu. */
export const VIEW_NAME_CHARS_MAX = 60;
/** Bars of the histogram: some six pixels each on a phone. */
export const HISTOGRAM_BARS = 60;
