/** Bounds of the page of schedules, each with its reason. */

/** Schedules drawn on the calendar; more are no picture any more, and the table has them all. */
export const DRAWN_MAX = 40;
/** Times of one schedule in the calendar's span that are counted; a schedule each second has 604,800 in a week. */
export const TIMES_COUNTED_MAX = 2_000;
/** Times of one schedule that are drawn as single marks; more are drawn as one band. */
export const MARKS_MAX = 120;
/** Times that a preview shows. */
export const PREVIEW_COUNT = 5;
