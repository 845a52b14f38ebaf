/**
 * An IANA time zone as a step function from instants to offsets. The steps are cached, because a call of Intl takes microseconds, and a
 * search for fire times makes many. Time zone data are those of the runtime's ICU.
 */
import { BoundedCache } from "@perdure/base";
import { ZONE_WEEKS_MAX, ZONES_MAX } from "./limits.js";

const WEEK_MS = 7 * 86_400_000;
const DAY_MS = 86_400_000;

export interface Zone {
  readonly name: string;
  /** Returns local time minus UTC at the instant, in milliseconds. */
  offsetAt(ms: number): number;
  /** Returns the first change of the offset in `(afterMs, untilMs]`: the first instant with the new offset. */
  nextChange(afterMs: number, untilMs: number): number | undefined;
}

/** One week: before `changeMs` it has one offset, from it on the other. No zone changes its offset twice within a week. */
interface Week {
  readonly before: number;
  readonly changeMs: number;
  readonly after: number;
}

const zones = new BoundedCache<string, Zone>({ entriesMax: ZONES_MAX });

/** Returns the zone, or `undefined` when there is none of that name. Offsets (`+02:00`) are not zones. */
export function zoneOf(name: string): Zone | undefined {
  const cached = zones.peek(name);
  if (cached !== undefined) return cached;
  const zone = makeZone(name);
  if (zone === undefined) return undefined;
  zones.set(name, zone);
  return zone;
}

function makeZone(name: string): Zone | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return undefined;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
      timeZone: name,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (cause) {
    if (cause instanceof RangeError) return undefined;
    throw cause;
  }
  const weeks = new BoundedCache<number, Week>({ entriesMax: ZONE_WEEKS_MAX });
  const weekAt = (ms: number): Week => {
    const index = Math.floor(ms / WEEK_MS);
    const cached = weeks.peek(index);
    if (cached !== undefined) return cached;
    const week = readWeek(format, index * WEEK_MS);
    weeks.set(index, week);
    return week;
  };
  const offsetAt = (ms: number): number => {
    const week = weekAt(ms);
    return ms < week.changeMs ? week.before : week.after;
  };
  return {
    name,
    offsetAt,
    nextChange(afterMs, untilMs) {
      for (let at = afterMs; ; at = (Math.floor(at / WEEK_MS) + 1) * WEEK_MS) {
        if (at > untilMs) return undefined;
        const { changeMs } = weekAt(at);
        if (changeMs > afterMs && changeMs !== Number.POSITIVE_INFINITY) return changeMs <= untilMs ? changeMs : undefined;
      }
    },
  };
}

/** Returns the instant of a local time: the first of two, or the end of the gap that it falls into. `localMs` as if UTC. */
export function instantOf(zone: Zone, localMs: number): number {
  // Local times are within a day of UTC, so the offsets around are those a day before and after.
  const early = zone.offsetAt(localMs - DAY_MS);
  const later = zone.offsetAt(localMs + DAY_MS);
  const first = localMs - Math.max(early, later);
  const second = localMs - Math.min(early, later);
  if (zone.offsetAt(first) === localMs - first) return first;
  if (zone.offsetAt(second) === localMs - second) return second;
  return zone.nextChange(first - 1, second) ?? second;
}

/** Bisects to the millisecond; a week that begins with a change has it as `changeMs`. */
function readWeek(format: Intl.DateTimeFormat, startMs: number): Week {
  const before = offsetOf(format, startMs - 1);
  const endMs = startMs + WEEK_MS;
  const after = offsetOf(format, endMs - 1);
  if (before === after) return { before, changeMs: Number.POSITIVE_INFINITY, after };
  let low = startMs - 1;
  let high = endMs - 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetOf(format, middle) === before) low = middle;
    else high = middle;
  }
  return { before, changeMs: high, after };
}

function offsetOf(format: Intl.DateTimeFormat, ms: number): number {
  const wholeSecond = Math.floor(ms / 1000) * 1000;
  const part: Record<string, string> = {};
  for (const { type, value } of format.formatToParts(wholeSecond)) part[type] = value;
  const year = part["era"] === "BC" ? 1 - Number(part["year"]) : Number(part["year"]);
  const local = new Date(0);
  local.setUTCFullYear(year, Number(part["month"]) - 1, Number(part["day"]));
  local.setUTCHours(Number(part["hour"]), Number(part["minute"]), Number(part["second"]));
  return local.getTime() - wholeSecond;
}
