/** Starts recurring invocations when they are due. */
export { backfillTimes } from "./backfill.js";
export * from "./decide.js";
export * from "./engine.js";
export * from "./event.js";
export * from "./firing.js";
export * from "./firing-key.js";
export * from "./limits.js";
export * from "./ports.js";
export * from "./row.js";
export { createScheduleRunner } from "./runner.js";
export * from "./schedule.js";
export * from "./upcoming.js";
