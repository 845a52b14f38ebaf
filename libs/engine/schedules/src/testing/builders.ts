/** Builders of schedules: a test gives only the fields that it is about, these fill in the rest. */
import { newScheduleId } from "@perdure/base";
import {
  freshState,
  type Schedule,
  type ScheduleRecord,
  type ScheduleSpec,
  type ScheduleState,
  timetableOfSpec,
} from "../schedule.js";

/** A schedule that fires `Greeter/greet` every minute, skips overlaps and does not catch up. */
export function aSpec(parts: Partial<ScheduleSpec> = {}): ScheduleSpec {
  return {
    name: "a-schedule",
    description: undefined,
    cron: "* * * * *",
    zone: "UTC",
    jitterMs: 0,
    startAtMs: undefined,
    endAtMs: undefined,
    firingsMax: undefined,
    target: { service: "Greeter", handler: "greet", key: undefined, scope: undefined, limitKey: undefined, priority: undefined },
    payload: { contentType: undefined, base64: "" },
    headers: {},
    overlap: { kind: "skip" },
    catchUp: { kind: "none" },
    ...parts,
  };
}

const noChance = { bytes: (into: Uint8Array) => void into.fill(7), uint32: () => 7, float: () => 0.5 };

export function aRecord(parts: Partial<ScheduleRecord> = {}): ScheduleRecord {
  return { ...aSpec(parts), id: newScheduleId(0, noChance), version: 1, createdAtMs: 0, modifiedAtMs: 0, ...parts };
}

export function aSchedule(record: Partial<ScheduleRecord> = {}, state: Partial<ScheduleState> = {}): Schedule {
  const whole = aRecord(record);
  const times = timetableOfSpec(whole);
  if (!times.ok) throw new Error(times.reason);
  return { record: whole, state: { ...freshState(0), ...state }, times: times.value };
}
