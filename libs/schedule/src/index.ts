/** Why: recurring invocations: when they are due, what happens then, and the engine that does it. */
export * from "./cron.js";
export * from "./limits.js";
export * from "./timetable.js";
export * from "./zone.js";
