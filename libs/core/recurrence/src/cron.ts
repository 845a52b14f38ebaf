/**
 * Parses recurrence expressions into sets that match calendar fields. The grammar is that of cron with seconds, nicknames, `L`, `W`,
 * `#` and plain intervals; docs/schedules.md describes it for users.
 */
import { parseDuration } from "@perdure/base";
import { CRON_CHARS_MAX, INTERVAL_MS_MAX, INTERVAL_MS_MIN } from "./limits.js";

/** Ascending values. Days of month and week hold the fixed ones; the rest depends on the month. */
export interface CronFields {
  readonly kind: "cron";
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  /** 1…12. */
  readonly months: readonly number[];
  readonly days: DaysOfMonth | undefined;
  readonly weekdays: DaysOfWeek | undefined;
  /** Every hour of the day matches: the expression follows elapsed time, not times of day. */
  readonly isHourly: boolean;
}

interface DaysOfMonth {
  /** 1…31. */
  readonly days: ReadonlySet<number>;
  /** Days before the last day of the month; 0 is the last day itself. */
  readonly fromLast: readonly number[];
  /** Days, each of which stands for the nearest working day. */
  readonly nearest: readonly number[];
  readonly isLastWorkingDay: boolean;
}

interface DaysOfWeek {
  /** 0 is Sunday. */
  readonly days: ReadonlySet<number>;
  /** `weekday · 8 + n`: the n-th of the month, from 1. */
  readonly nth: ReadonlySet<number>;
  /** Weekdays whose last occurrence in the month matches. */
  readonly last: ReadonlySet<number>;
}

/** Elapsed time, independent of clock changes. */
interface Interval {
  readonly kind: "every";
  readonly everyMs: number;
}

export type Recurrence = CronFields | Interval;
type ParsedRecurrence = { readonly ok: true; readonly value: Recurrence } | { readonly ok: false; readonly reason: string };

const NICKNAMES: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
  /** The value of the first name. */
  readonly firstName: number;
}

const SECOND: CronField = { name: "second", min: 0, max: 59, names: [], firstName: 0 };
const MINUTE: CronField = { name: "minute", min: 0, max: 59, names: [], firstName: 0 };
const HOUR: CronField = { name: "hour", min: 0, max: 23, names: [], firstName: 0 };
const DAY: CronField = { name: "day of month", min: 1, max: 31, names: [], firstName: 0 };
const MONTH_NAMES = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const MONTH: CronField = { name: "month", min: 1, max: 12, names: MONTH_NAMES, firstName: 1 };
const WEEKDAY_NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
/** 7 is Sunday as well; the sets fold it to 0. */
const WEEKDAY: CronField = { name: "day of week", min: 0, max: 7, names: WEEKDAY_NAMES, firstName: 0 };

/** A syntax error; thrown and caught in this file only. */
class Mistake extends Error {}

/** Parses an expression. The reason completes "the expression is not usable: …". Does not check whether a date ever matches. */
export function parseRecurrence(text: string): ParsedRecurrence {
  if (text.length > CRON_CHARS_MAX) return { ok: false, reason: `it is longer than ${CRON_CHARS_MAX} characters` };
  try {
    return { ok: true, value: parse(text.trim()) };
  } catch (cause) {
    if (cause instanceof Mistake) return { ok: false, reason: cause.message };
    throw cause;
  }
}

function parse(text: string): Recurrence {
  const interval = /^@?every\s+(\S.*)$/i.exec(text);
  if (interval !== null) return parseInterval(interval[1] ?? "");
  if (text.startsWith("@")) {
    const meaning = NICKNAMES[text.toLowerCase()];
    if (meaning === undefined) throw new Mistake(`unknown nickname '${text}'; there are ${Object.keys(NICKNAMES).join(", ")}`);
    return parse(meaning);
  }
  const fields = text === "" ? [] : text.split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new Mistake(
      `it has ${fields.length} fields; minute, hour, day of month, month, day of week make five, six begin with the second`,
    );
  }
  const six = fields.length === 5 ? ["0", ...fields] : fields;
  const [second = "", minute = "", hour = "", day = "", month = "", weekday = ""] = six;
  const hours = values(HOUR, hour);
  return {
    kind: "cron",
    seconds: values(SECOND, second),
    minutes: values(MINUTE, minute),
    hours,
    months: values(MONTH, month),
    days: daysOfMonth(day),
    weekdays: daysOfWeek(weekday),
    isHourly: hours.length === 24,
  };
}

function parseInterval(text: string): Interval {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new Mistake(`'${text}' is not a duration: ${parsed.reason}`);
  if (parsed.ms < INTERVAL_MS_MIN || parsed.ms > INTERVAL_MS_MAX)
    throw new Mistake("an interval is from 1 second to 366 days long");
  return { kind: "every", everyMs: parsed.ms };
}

function values(kind: CronField, field: string): readonly number[] {
  const set = new Set<number>();
  for (const part of field.split(",")) addRange(kind, part, set);
  return [...set].sort((a, b) => a - b);
}

/** `*`, `5`, `1-5`, each with `/n`; a single value with steps continues to the end of the field. */
function addRange(kind: CronField, part: string, into: Set<number>): void {
  const [range = "", step, ...more] = part.split("/");
  if (more.length > 0) throw new Mistake(`'${part}' in the ${kind.name} has more than one '/'`);
  const width = step === undefined ? 1 : number(kind, step, 1, kind.max - kind.min + 1);
  const [from, to] = bounds(kind, range, step !== undefined);
  for (let value = from; value <= to; value += width) into.add(kind === WEEKDAY ? value % 7 : value);
}

function bounds(kind: CronField, range: string, hasStep: boolean): readonly [number, number] {
  // Sunday counts once in `*`, otherwise steps over the week would match it twice.
  if (range === "*" || range === "?") return [kind.min, kind === WEEKDAY ? 6 : kind.max];
  const [first = "", last, ...more] = range.split("-");
  if (more.length > 0) throw new Mistake(`'${range}' is not a range of the ${kind.name}`);
  const from = valueIn(kind, first);
  if (last === undefined) return [from, hasStep ? (kind === WEEKDAY ? 6 : kind.max) : from];
  const to = valueIn(kind, last) || (kind === WEEKDAY && from > 0 ? 7 : 0);
  if (to < from) throw new Mistake(`the range '${range}' of the ${kind.name} runs backwards; write two ranges`);
  return [from, to];
}

function valueIn(kind: CronField, text: string): number {
  const named = kind.names.indexOf(text.toUpperCase());
  return named >= 0 ? named + kind.firstName : number(kind, text, kind.min, kind.max);
}

function number(kind: CronField, text: string, min: number, max: number): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new Mistake(`'${text}' is not a ${kind.name} from ${min} to ${max}`);
}

function isAny(field: string): boolean {
  return field === "*" || field === "?";
}

function daysOfMonth(field: string): DaysOfMonth | undefined {
  if (isAny(field)) return undefined;
  const days = new Set<number>();
  const fromLast: number[] = [];
  const nearest: number[] = [];
  let isLastWorkingDay = false;
  for (const part of field.toUpperCase().split(",")) {
    const last = /^L(?:-(\d+))?$/.exec(part);
    const working = /^(\d+)W$/.exec(part);
    if (part === "LW") isLastWorkingDay = true;
    else if (last !== null) fromLast.push(last[1] === undefined ? 0 : number(DAY, last[1], 1, 30));
    else if (working !== null) nearest.push(number(DAY, working[1] ?? "", 1, 31));
    else addRange(DAY, part, days);
  }
  return { days, fromLast, nearest, isLastWorkingDay };
}

function daysOfWeek(field: string): DaysOfWeek | undefined {
  if (isAny(field)) return undefined;
  const days = new Set<number>();
  const nth = new Set<number>();
  const last = new Set<number>();
  for (const part of field.toUpperCase().split(",")) {
    const hash = /^(\w+)#(\d+)$/.exec(part);
    const ending = /^(\w+)L$/.exec(part);
    if (hash !== null) nth.add((valueIn(WEEKDAY, hash[1] ?? "") % 7) * 8 + number(WEEKDAY, hash[2] ?? "", 1, 5));
    else if (ending !== null) last.add(valueIn(WEEKDAY, ending[1] ?? "") % 7);
    else addRange(WEEKDAY, part, days);
  }
  return { days, nth, last };
}

/** Whether a day of the Gregorian calendar matches; the month itself was checked before. `month` 1…12. */
export function matchesDay({ days, weekdays }: CronFields, year: number, month: number, day: number): boolean {
  if (days === undefined && weekdays === undefined) return true;
  const length = daysIn(year, month);
  const weekday = weekdayOf(year, month, day);
  return (
    (days !== undefined && matchesDayOfMonth(days, year, month, day, length)) ||
    (weekdays !== undefined && matchesDayOfWeek(weekdays, day, weekday, length))
  );
}

function matchesDayOfMonth(days: DaysOfMonth, year: number, month: number, day: number, length: number): boolean {
  if (days.days.has(day) || days.fromLast.includes(length - day)) return true;
  if (days.isLastWorkingDay && day === nearestWorkingDay(year, month, length, length)) return true;
  return days.nearest.some((nominalDay) => nominalDay <= length && day === nearestWorkingDay(year, month, nominalDay, length));
}

function matchesDayOfWeek({ days, nth, last }: DaysOfWeek, day: number, weekday: number, length: number): boolean {
  return days.has(weekday) || nth.has(weekday * 8 + Math.ceil(day / 7)) || (last.has(weekday) && day > length - 7);
}

/** Monday to Friday, within the month. */
function nearestWorkingDay(year: number, month: number, day: number, length: number): number {
  switch (weekdayOf(year, month, day)) {
    case 6:
      return day > 1 ? day - 1 : day + 2;
    case 0:
      return day < length ? day + 1 : day - 2;
    default:
      return day;
  }
}

function weekdayOf(year: number, month: number, day: number): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay();
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}
