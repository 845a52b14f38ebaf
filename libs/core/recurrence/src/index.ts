/**
 * Computes when a cron expression or an interval is due, in any time zone. The functions are pure, so that pages of a browser can show it.
 */

export { parseRecurrence } from "./cron.js";
export { CRON_CHARS_MAX } from "./limits.js";
export { type Timetable, timetableOf } from "./timetable.js";
export { zoneOf } from "./zone.js";
