/** The calendar without the engine, for pages of a browser that show when a schedule would fire. */
export { parseRecurrence } from "./cron.js";
export { type Timetable, timetableOf } from "./timetable.js";
export { zoneOf } from "./zone.js";
