/**
 * Checks the timetable against an oracle too simple to be wrong: it walks through a week minute by minute, reads the wall clock from
 * Intl, and applies the written rule. Weeks are chosen around changes of clocks, where most errors occur.
 */
import { expect, test } from "@jest/globals";
import { parseRecurrence, timetableOf, zoneOf } from "@perdure/recurrence";
import fc from "fast-check";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Instants near which clocks change in these zones, and one where nothing happens. */
const MOMENTS: readonly (readonly [zone: string, at: string])[] = [
  ["Europe/Berlin", "2026-03-29T01:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00Z"],
  ["America/New_York", "2026-03-08T07:00Z"],
  ["America/New_York", "2026-11-01T06:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00Z"],
  ["Australia/Lord_Howe", "2026-10-03T15:30Z"],
  ["Antarctica/Troll", "2026-03-29T01:00Z"],
  ["Antarctica/Troll", "2026-10-25T01:00Z"],
  ["Asia/Beirut", "2026-03-28T22:00Z"],
  ["America/Havana", "2026-11-01T05:00Z"],
  ["America/Santiago", "2026-04-05T03:00Z"],
  ["America/Santiago", "2026-09-06T04:00Z"],
  ["Africa/Casablanca", "2026-02-15T02:00Z"],
  ["Africa/Casablanca", "2026-03-22T02:00Z"],
  ["Asia/Kathmandu", "2028-02-29T00:00Z"],
];

interface Wall {
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
  readonly month: number;
  readonly weekday: number;
}

/** The five fields, each with its text and its meaning. */
interface Fields {
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number> | undefined;
  readonly weekdays: ReadonlySet<number> | undefined;
}

const set = (min: number, max: number) => fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 });
const listed = (min: number, max: number) => set(min, max).map((all) => ({ text: all.join(","), values: new Set(all) }));
const every = (min: number, max: number) =>
  fc.integer({ min: 1, max: 7 }).map((step) => ({
    text: step === 1 ? "*" : `*/${step}`,
    values: new Set(Array.from({ length: max - min + 1 }, (_, i) => min + i).filter((value) => (value - min) % step === 0)),
  }));
const range = (min: number, max: number) =>
  fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => {
    const [from, to] = [Math.min(a, b), Math.max(a, b)];
    return { text: `${from}-${to}`, values: new Set(Array.from({ length: to - from + 1 }, (_, i) => from + i)) };
  });
const field = (min: number, max: number) => fc.oneof(listed(min, max), every(min, max), range(min, max));
const anyOr = (min: number, max: number) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant({ text: "*", values: undefined }) }, { weight: 1, arbitrary: listed(min, max) });

const fields: fc.Arbitrary<Fields> = fc
  .tuple(field(0, 59), fc.oneof(field(0, 23), field(0, 3)), anyOr(1, 31), anyOr(0, 6))
  .map(([minute, hour, day, weekday]) => ({
    text: `${minute.text} ${hour.text} ${day.text} * ${weekday.text}`,
    minutes: minute.values,
    hours: hour.values,
    days: day.values,
    weekdays: weekday.values,
  }))
  // `field(0, 3)` writes steps over hours 0…3 only; the expression means all of them.
  .map((one) => {
    const step = /^\S+ \*(?:\/(\d+))? /.exec(one.text);
    if (step === null) return one;
    const width = Number(step[1] ?? 1);
    return { ...one, hours: new Set(Array.from({ length: 24 }, (_, i) => i).filter((hour) => hour % width === 0)) };
  });

function matches({ minutes, hours, days, weekdays }: Fields, wall: Wall): boolean {
  if (!minutes.has(wall.minute) || !hours.has(wall.hour)) return false;
  if (days === undefined && weekdays === undefined) return true;
  return days?.has(wall.day) === true || weekdays?.has(wall.weekday) === true;
}

/** The local time at every minute of the span, as "local minutes" and as fields. */
function localMinutes(zone: string, fromMs: number, toMs: number): { readonly atMs: number; readonly local: number }[] {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const minutes: { atMs: number; local: number }[] = [];
  for (let atMs = fromMs; atMs < toMs; atMs += MINUTE_MS) {
    const [, day, month, year, hour, minute] = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+)$/.exec(format.format(atMs))!.map(Number);
    minutes.push({ atMs, local: Date.UTC(year!, month! - 1, day!, hour!, minute!) / MINUTE_MS });
  }
  return minutes;
}

function wallOf(local: number): Wall {
  const date = new Date(local * MINUTE_MS);
  return {
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    month: date.getUTCMonth() + 1,
    weekday: date.getUTCDay(),
  };
}

/** The written rule, minute by minute. */
function oracle(one: Fields, all: readonly { readonly atMs: number; readonly local: number }[]): number[] {
  const isHourly = one.hours.size === 24;
  const times: number[] = [];
  let latest = all[0]!.local - 1;
  for (const { atMs, local } of all) {
    if (isHourly) {
      if (matches(one, wallOf(local))) times.push(atMs);
      continue;
    }
    let fires = false;
    // Each local minute counts when the clock first reaches or jumps over it; those shown again count no more.
    for (let minute = latest + 1; minute <= local; minute++) fires ||= matches(one, wallOf(minute));
    latest = Math.max(latest, local);
    if (fires) times.push(atMs);
  }
  return times;
}

const spans = new Map(
  MOMENTS.map(([zone, at]) => {
    const fromMs = Date.parse(at) - 1.5 * DAY_MS;
    const toMs = Date.parse(at) + 1.5 * DAY_MS;
    return [`${zone} ${at}`, { zone, fromMs, toMs, all: localMinutes(zone, fromMs, toMs) }] as const;
  }),
);

test.each([...spans.keys()])("no fire time is missing and none is there twice: %s", (name) => {
  const { zone, fromMs, toMs, all } = spans.get(name)!;
  fc.assert(
    fc.property(fields, (one) => {
      const parsed = parseRecurrence(one.text);
      if (!parsed.ok) throw new Error(`${one.text}: ${parsed.reason}`);
      const timetable = timetableOf(parsed.value, zoneOf(zone)!, 0);
      const times: number[] = [];
      for (let at = timetable.next(fromMs - 1); at !== undefined && at < toMs; at = timetable.next(at)) times.push(at);
      expect({ expression: one.text, times }).toEqual({ expression: one.text, times: oracle(one, all) });
    }),
    { numRuns: 25 },
  );
});

test("entering the sequence anywhere continues it: next(t) is the same for all t up to the next fire time", () => {
  const moment = fc.constantFrom(...spans.values());
  fc.assert(
    fc.property(
      fields,
      moment,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (one, span, a, b) => {
        const parsed = parseRecurrence(one.text);
        if (!parsed.ok) throw new Error(parsed.reason);
        const timetable = timetableOf(parsed.value, zoneOf(span.zone)!, 0);
        const from = Math.floor(span.fromMs + a * (span.toMs - span.fromMs));
        const next = timetable.next(from);
        if (next === undefined) return;
        const between = from + Math.floor(b * (next - from - 1));
        expect(timetable.next(between)).toBe(next);
        expect(timetable.previous(next + 1, between)).toBe(next);
      },
    ),
    { numRuns: 200 },
  );
});
