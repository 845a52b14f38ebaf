/** When a cron expression or an interval comes due, in any time zone; pure, so that pages of a browser can show it. */

export { parseRecurrence } from "./cron.js";
export { CRON_CHARS_MAX } from "./limits.js";
export { type Timetable, timetableOf } from "./timetable.js";
export { zoneOf } from "./zone.js";
