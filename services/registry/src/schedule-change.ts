/** Progress of a schedule whose spec is replaced. */
import { nextNominal, type Schedule, type ScheduleRecord, type ScheduleState } from "@perdure/schedules";

/** A new timetable cancels earlier firings: those that wait, and those that a higher count or a later end would allow again. */
export function stateAfter(old: Schedule, record: ScheduleRecord, nowMs: number): ScheduleState {
  const before = old.record;
  const isSameTimes =
    before.cron === record.cron &&
    before.zone === record.zone &&
    before.startAtMs === record.startAtMs &&
    before.endAtMs === record.endAtMs &&
    before.firingsMax === record.firingsMax;
  if (isSameTimes && nextNominal(old) !== undefined) return old.state;
  return { ...old.state, queue: [], decidedThroughMs: Math.max(old.state.decidedThroughMs, nowMs) };
}
