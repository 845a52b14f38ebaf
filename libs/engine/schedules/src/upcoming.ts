/**
 * Returns the times that a schedule still has, with its start, end, count and jitter applied; used by the engine and the management
 * API.
 */
import type { ScheduleId } from "@perdure/base";
import { hashString } from "@perdure/base";
import type { Schedule } from "./schedule.js";

const TWO_64 = 2 ** 64;

/** Returns the first time after `afterMs`; undefined when the schedule is over by then. */
export function nominalAfter({ record, times }: Schedule, afterMs: number): number | undefined {
  const from = record.startAtMs === undefined ? afterMs : Math.max(afterMs, record.startAtMs - 1);
  const next = times.next(from);
  return next === undefined || (record.endAtMs !== undefined && next > record.endAtMs) ? undefined : next;
}

/** Returns the number of firings that are still allowed; queued ones count as fired. */
export function firingsLeft({ record, state }: Schedule): number {
  return record.firingsMax === undefined
    ? Number.POSITIVE_INFINITY
    : Math.max(0, record.firingsMax - state.firedCount - state.queue.length);
}

/** Returns the next time that is not decided yet, whether or not the schedule is paused; undefined when it is over. */
export function nextNominal(schedule: Schedule): number | undefined {
  return firingsLeft(schedule) === 0 ? undefined : nominalAfter(schedule, schedule.state.decidedThroughMs);
}

/** Returns when a time is acted upon: its jitter is random but always the same for this time, and never reaches the following time. */
export function dueAt(schedule: Schedule, nominalMs: number): number {
  const { id, jitterMs } = schedule.record;
  if (jitterMs === 0) return nominalMs;
  const following = nominalAfter(schedule, nominalMs);
  const width = following === undefined ? jitterMs : Math.min(jitterMs, following - nominalMs - 1);
  return nominalMs + Math.floor(chanceOf(id, nominalMs) * (width + 1));
}

/** Returns at most `count` times after `afterMs`, and at most as many as may still fire. */
export function upcoming(schedule: Schedule, afterMs: number, count: number): number[] {
  const times: number[] = [];
  const most = Math.min(count, firingsLeft(schedule));
  let at = nominalAfter(schedule, Math.max(afterMs, schedule.state.decidedThroughMs));
  while (at !== undefined && times.length < most) {
    times.push(at);
    at = nominalAfter(schedule, at);
  }
  return times;
}

/** `ended`: no time will come and none waits. */
export function statusOf(schedule: Schedule): "active" | "paused" | "ended" {
  if (schedule.state.queue.length === 0 && nextNominal(schedule) === undefined) return "ended";
  return schedule.state.isPaused ? "paused" : "active";
}

/** Returns a number in 0…1, 1 excluded, that depends only on id and time. */
function chanceOf(id: ScheduleId, nominalMs: number): number {
  return Number(hashString(`${id}/${nominalMs}`) >> 11n) / (TWO_64 / 2048);
}
