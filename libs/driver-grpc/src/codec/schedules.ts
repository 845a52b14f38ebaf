/** Schedules as they travel: what is stored of them; the times that follow from it are computed by whoever reads them. */
import { PerdureError } from "@perdure/base";
import { type Schedule, type Schedules, timetableOfSpec } from "@perdure/schedule";

/** Methods that travel as one question and one answer. */
export const SCHEDULE_METHODS = [
  "get",
  "create",
  "replace",
  "remove",
  "pause",
  "resume",
  "runNow",
] as const satisfies readonly (keyof Schedules)[];
export type ScheduleMethod = (typeof SCHEDULE_METHODS)[number];

/** Those that answer with a schedule. */
const ANSWERS_SCHEDULE: ReadonlySet<ScheduleMethod> = new Set(["get", "create", "replace", "pause", "resume"]);

export type StoredSchedule = Omit<Schedule, "times">;

export function storedOf({ record, state }: Schedule): StoredSchedule {
  return { record, state };
}

export function scheduleOf({ record, state }: StoredSchedule): Schedule {
  const times = timetableOfSpec(record);
  if (!times.ok) throw new PerdureError("OPS0003", `a registry sent the schedule '${record.id}' with an invalid ${times.field}`);
  return { record, state, times: times.value };
}

export function encodedResult(method: ScheduleMethod, result: unknown): unknown {
  return ANSWERS_SCHEDULE.has(method) && result !== undefined ? storedOf(result as Schedule) : result;
}

export function decodedResult(method: ScheduleMethod, result: unknown): unknown {
  return ANSWERS_SCHEDULE.has(method) && result !== undefined ? scheduleOf(result as StoredSchedule) : result;
}
