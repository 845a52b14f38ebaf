/** Bounds of the page of schedules, each with its reason. */

/** Schedules drawn on the calendar; more would not be readable, and the table has them all. */
export const DRAWN_MAX = 40;
/** Times of one schedule in the calendar's span that are counted; a schedule each second has 604,800 in a week. */
export const TIMES_COUNTED_MAX = 2_000;
/** Times of one schedule that are drawn as single marks; more are drawn as a heat strip. */
export const MARKS_MAX = 120;
/** Parts of a heat strip: a quarter of an hour of a day, almost two hours of a week; each is some pixels wide on a phone. */
export const HEAT_CELLS = 96;
/** Times that are counted in one part, so that all parts together take no longer than the count beside them. */
export const HEAT_COUNTED_MAX = 20;
/** Times that a preview shows. */
export const PREVIEW_COUNT = 5;
