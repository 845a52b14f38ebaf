/**
 * Reads and formats durations of settings, manifests and query parameters (admin-api.md §1.3, ingress.md §3.1). Two notations are read: ISO
 * 8601 (`PT1H30M`) and the friendly one (`1h30m`, `1 day 2 hours`, `1d 02:30:00`), whose units are lower-case letters: `1M` could be a
 * minute or a month, and the reference refuses it, too.
 */
import { DURATION_MS_MAX, QUANTITY_TEXT_CHARS_MAX } from "./limits.js";

/** Whole milliseconds, at most 10,000 years (fractions of a millisecond are cut off), or a clause that says what is wrong with the text. */
type ParsedDuration = { ok: true; ms: number } | { ok: false; reason: string };

type Unit = { ms: number; names: readonly string[]; rank: number };

const UNITS: readonly Unit[] = [
  { rank: 7, ms: 604_800_000, names: ["w", "wk", "wks", "week", "weeks"] },
  { rank: 6, ms: 86_400_000, names: ["d", "day", "days"] },
  { rank: 5, ms: 3_600_000, names: ["h", "hr", "hrs", "hour", "hours"] },
  { rank: 4, ms: 60_000, names: ["m", "min", "mins", "minute", "minutes"] },
  { rank: 3, ms: 1000, names: ["s", "sec", "secs", "second", "seconds"] },
  { rank: 2, ms: 1, names: ["ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"] },
  { rank: 1, ms: 1e-3, names: ["us", "µs", "μs", "usec", "usecs", "micro", "micros", "microsecond", "microseconds"] },
  { rank: 0, ms: 1e-6, names: ["ns", "nsec", "nsecs", "nano", "nanos", "nanosecond", "nanoseconds"] },
];
const UNIT_BY_NAME: ReadonlyMap<string, Unit> = new Map(UNITS.flatMap((unit) => unit.names.map((name) => [name, unit] as const)));
const CALENDAR_UNITS: ReadonlySet<string> = new Set(["y", "yr", "yrs", "year", "years", "mo", "mos", "month", "months"]);
const TOO_LARGE_UNIT = "please use units of days or smaller";
const NEGATIVE = "a duration cannot be negative";
const TOO_LONG = "the duration is longer than 10000 years";

export function parseDuration(text: string): ParsedDuration {
  const trimmed = text.trim();
  if (trimmed === "") return bad("an empty string is not a duration");
  if (trimmed.length > QUANTITY_TEXT_CHARS_MAX) return bad("the text is too long for a duration");
  if (trimmed === "0") return { ok: true, ms: 0 }; // Zero needs no unit.
  if (trimmed.startsWith("-")) return bad(NEGATIVE);
  const unsigned = trimmed.startsWith("+") ? trimmed.slice(1).trimStart() : trimmed;
  return /^p/i.test(unsigned) ? parseIso(unsigned) : parseFriendly(unsigned);
}

const ISO =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+(?:[.,]\d+)?)H)?(?:(\d+(?:[.,]\d+)?)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/i;
const ISO_UNITS: readonly number[] = [604_800_000, 86_400_000, 3_600_000, 60_000, 1000];

function parseIso(text: string): ParsedDuration {
  const match = ISO.exec(text);
  if (match === null || /[PT]$/i.test(text)) return bad(`'${text}' is not an ISO 8601 duration such as PT1H30M`);
  if (match[1] !== undefined || match[2] !== undefined) return bad(TOO_LARGE_UNIT);
  let total = 0;
  let hasFraction = false;
  for (let i = 0; i < ISO_UNITS.length; i++) {
    const amount = match[i + 3];
    if (amount === undefined) continue;
    if (hasFraction) return bad("only the smallest unit may have a fraction");
    hasFraction = /[.,]/.test(amount);
    total += amountOf(amount) * ISO_UNITS[i]!;
  }
  return whole(total);
}

const PIECE = /(\d+(?:[.,]\d+)?)\s*([a-zA-Zµμ]+)\s*(?:,\s+)?/y;
/** Hours, minutes and seconds, each of any size; always the last piece, at most behind days or larger units. */
const CLOCK = /(\d+):(\d+):(\d+(?:[.,]\d+)?)$/y;
const CLOCK_RANK = 5;

function parseFriendly(text: string): ParsedDuration {
  let total = 0;
  let at = 0;
  let lastRank = Number.POSITIVE_INFINITY;
  let hasFraction = false;
  while (at < text.length) {
    CLOCK.lastIndex = at;
    const clock = lastRank > CLOCK_RANK ? CLOCK.exec(text) : null;
    if (clock !== null) return whole(total + clockMs(clock[1]!, clock[2]!, clock[3]!));
    PIECE.lastIndex = at;
    const match = PIECE.exec(text);
    if (match === null) return bad(`'${text}' is not a duration such as 90s, 1h30m or PT1H30M; every number needs a unit`);
    const name = match[2]!;
    const unit = UNIT_BY_NAME.get(name);
    if (unit === undefined) {
      if (CALENDAR_UNITS.has(name)) return bad(TOO_LARGE_UNIT);
      return bad(name === "ago" ? NEGATIVE : `'${name}' is not a unit of time`);
    }
    if (unit.rank >= lastRank) return bad("units must go from large to small, each at most once");
    if (hasFraction) return bad("only the smallest unit may have a fraction");
    hasFraction = /[.,]/.test(match[1]!);
    if (hasFraction && unit.rank > 5) return bad("days and weeks cannot have a fraction");
    lastRank = unit.rank;
    total += amountOf(match[1]!) * unit.ms;
    at = PIECE.lastIndex;
  }
  return whole(total);
}

function clockMs(hours: string, minutes: string, seconds: string): number {
  return Number(hours) * 3_600_000 + Number(minutes) * 60_000 + amountOf(seconds) * 1000;
}

function amountOf(text: string): number {
  return Number(text.replace(",", "."));
}

function whole(ms: number): ParsedDuration {
  // The 1e-6 compensates rounding: 0.3 s must be 300 ms although 0.3 × 1000 may come out as 299.999….
  const cut = Math.floor(ms + 1e-6);
  return cut <= DURATION_MS_MAX ? { ok: true, ms: cut } : bad(TOO_LONG);
}

function bad(reason: string): { ok: false; reason: string } {
  return { ok: false, reason };
}

/** `1d 2h`, `1s 500ms`, `0s`: days are the largest unit. `ms` whole and not negative; fractions are cut off. */
export function formatDuration(ms: number): string {
  let rest = Math.floor(ms);
  if (rest <= 0) return "0s";
  const parts: string[] = [];
  for (const [size, name] of SHOWN_UNITS) {
    const amount = Math.floor(rest / size);
    if (amount === 0) continue;
    parts.push(`${amount}${name}`);
    rest -= amount * size;
  }
  return parts.join(" ");
}

const SHOWN_UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
  [1, "ms"],
];
