/**
 * The fire times of a recurrence in a zone, as one ascending sequence that can be entered anywhere. Its behaviour at clock changes is
 * our own rule, because libraries differ (docs/decisions):
 *
 * - times of day: a local time in a gap fires at the first instant after it, once; one in an overlap fires at its first occurrence;
 * - expressions that match every hour follow elapsed time: a gap adds no firing, both halves of an overlap fire.
 */
import { type CronFields, matchesDay, type Recurrence } from "./cron.js";
import { YEARS_AHEAD_MAX } from "./limits.js";
import { instantOf, type Zone } from "./zone.js";

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;

export interface Timetable {
  /** Returns the first fire time strictly after the instant; undefined when none comes within `YEARS_AHEAD_MAX`. */
  next(afterMs: number): number | undefined;
  /** Returns the last fire time before the instant and after `floorMs`. */
  previous(beforeMs: number, floorMs: number): number | undefined;
}

/** Intervals count from `anchorMs`, independent of the zone. */
export function timetableOf(recurrence: Recurrence, zone: Zone, anchorMs: number): Timetable {
  switch (recurrence.kind) {
    case "every":
      return intervalTimes(recurrence.everyMs, anchorMs);
    case "cron": {
      const next = recurrence.isHourly
        ? (afterMs: number) => nextElapsed(recurrence, zone, afterMs)
        : (afterMs: number) => nextOfDay(recurrence, zone, afterMs);
      return { next, previous: (beforeMs, floorMs) => lastBefore(next, beforeMs, floorMs) };
    }
  }
}

function intervalTimes(everyMs: number, anchorMs: number): Timetable {
  return {
    next: (afterMs) => anchorMs + (Math.floor((afterMs - anchorMs) / everyMs) + 1) * everyMs,
    previous(beforeMs, floorMs) {
      const previousMs = anchorMs + (Math.ceil((beforeMs - anchorMs) / everyMs) - 1) * everyMs;
      return previousMs > floorMs ? previousMs : undefined;
    },
  };
}

/** Several local times may mean one instant (a gap), and one already fired may come again (an overlap): both are skipped. */
function nextOfDay(fields: CronFields, zone: Zone, afterMs: number): number | undefined {
  let local: number | undefined = afterMs + zone.offsetAt(afterMs);
  for (;;) {
    local = nextLocal(fields, local);
    if (local === undefined) return undefined;
    const instant = instantOf(zone, local);
    if (instant > afterMs) return instant;
  }
}

/** Goes from one change of the offset to the next; in between, local time and elapsed time are the same. */
function nextElapsed(fields: CronFields, zone: Zone, afterMs: number): number | undefined {
  let offset = zone.offsetAt(afterMs);
  let changedAt = afterMs;
  let local = nextLocal(fields, afterMs + offset);
  while (local !== undefined) {
    const instant = local - offset;
    const change = zone.nextChange(changedAt, instant);
    if (change === undefined) return instant;
    offset = zone.offsetAt(change);
    changedAt = change;
    local = nextLocal(fields, change + offset - 1); // The first instant with the new offset may itself be a fire time.
  }
  return undefined;
}

/** Returns the first matching local time after `localMs`, both as if UTC. Local times are whole seconds. */
function nextLocal(fields: CronFields, localMs: number): number | undefined {
  const start = Math.floor(localMs / SECOND_MS) * SECOND_MS + SECOND_MS;
  const startDay = Math.floor(start / DAY_MS) * DAY_MS;
  const today = new Date(startDay);
  const lastYear = today.getUTCFullYear() + YEARS_AHEAD_MAX;
  let year = today.getUTCFullYear();
  let month = today.getUTCMonth() + 1;
  let day = today.getUTCDate();
  let fromSecond = (start - startDay) / SECOND_MS;
  for (;;) {
    if (!fields.months.includes(month)) {
      [year, month] = month === 12 ? [year + 1, 1] : [year, month + 1];
      [day, fromSecond] = [1, 0];
      if (year > lastYear) return undefined;
      continue;
    }
    const dayMs = Date.UTC(year, month - 1, day);
    if (new Date(dayMs).getUTCMonth() !== month - 1) {
      [year, month] = month === 12 ? [year + 1, 1] : [year, month + 1];
      day = 1;
      if (year > lastYear) return undefined;
      continue;
    }
    if (matchesDay(fields, year, month, day)) {
      const second = nextTimeOfDay(fields, fromSecond);
      if (second !== undefined) return dayMs + second * SECOND_MS;
    }
    day++;
    fromSecond = 0;
  }
}

/** Returns the first matching second of the day at or after `from`. */
function nextTimeOfDay({ hours, minutes, seconds }: CronFields, from: number): number | undefined {
  const hour = Math.floor(from / 3600);
  const minute = Math.floor(from / 60) % 60;
  const second = from % 60;
  for (const h of hours) {
    if (h < hour) continue;
    for (const m of minutes) {
      if (h === hour && m < minute) continue;
      for (const s of seconds) if (h > hour || m > minute || s >= second) return h * 3600 + m * 60 + s;
    }
  }
  return undefined;
}

/** Fire times are only computed forwards, but `next(t) < before` holds exactly for the t before the last one: bisection finds it. */
function lastBefore(next: (afterMs: number) => number | undefined, beforeMs: number, floorMs: number): number | undefined {
  const isEarly = (ms: number): boolean => (next(ms) ?? Number.POSITIVE_INFINITY) < beforeMs;
  if (!isEarly(floorMs)) return undefined;
  let step = SECOND_MS;
  let high = beforeMs;
  let low = Math.max(floorMs, high - step);
  while (!isEarly(low)) {
    high = low;
    step *= 2;
    low = Math.max(floorMs, low - step);
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEarly(middle)) low = middle;
    else high = middle;
  }
  return next(low);
}
