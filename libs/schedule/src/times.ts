/** Why: pages of a browser show when a schedule would fire; for that they need the calendar, and nothing of the engine. */
export { parseRecurrence } from "./cron.js";
export { type Timetable, timetableOf } from "./timetable.js";
export { zoneOf } from "./zone.js";
