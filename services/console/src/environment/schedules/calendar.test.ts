import { expect, test } from "@jest/globals";
import { countsWithin, type ReadWhen, readWhen, timesWithin } from "./calendar.js";

const ok = (read: ReadWhen): ReadWhen & { ok: true } => {
  if (!read.ok) throw new Error(read.problem);
  return read;
};
const NOON = Date.parse("2026-03-28T12:00:00Z");

test("times are those of the clock in the zone, also across the change to summer time", () => {
  const times = timesWithin(ok(readWhen({ cron: "30 3 * * *", zone: "Europe/Berlin" })), NOON, NOON + 2 * 86_400_000, 10);
  expect(times.map((at) => new Date(at).toISOString())).toEqual(["2026-03-29T01:30:00.000Z", "2026-03-30T01:30:00.000Z"]);
});

test("intervals count from the start, and nothing is before it or after the end", () => {
  const when = ok(readWhen({ cron: "every 1h", zone: "UTC", startAt: "2026-03-28T13:10:00Z", endAt: "2026-03-28T15:00:00Z" }));
  expect(timesWithin(when, NOON, NOON + 86_400_000, 10).map((at) => new Date(at).toISOString())).toEqual([
    "2026-03-28T13:10:00.000Z",
    "2026-03-28T14:10:00.000Z",
  ]);
});

test("the count stops at the requested number", () => {
  expect(timesWithin(ok(readWhen({ cron: "* * * * * *", zone: "UTC" })), NOON, NOON + 86_400_000, 7)).toHaveLength(7);
});

test("an invalid expression names the field with the error", () => {
  expect(readWhen({ cron: "61 * * * *", zone: "UTC" })).toMatchObject({ ok: false, field: "cron" });
  expect(readWhen({ cron: "@daily", zone: "Mars/Base" })).toMatchObject({ ok: false, field: "zone" });
});

test("a dense schedule has a count for each part of the span, also behind those that fit one count", () => {
  const everyMinuteAtWork = ok(readWhen({ cron: "* 13-16 * * *", zone: "UTC" }));
  const counts = countsWithin(everyMinuteAtWork, NOON - 1, NOON - 1 + 86_400_000, { cellCount: 24, max: 20 });
  expect(counts).toEqual([0, 20, 20, 20, 20, ...Array.from({ length: 19 }, () => 0)]);
  const everySecond = ok(readWhen({ cron: "* * * * * *", zone: "UTC" }));
  expect(countsWithin(everySecond, NOON, NOON + 7 * 86_400_000, { cellCount: 96, max: 20 }).at(-1)).toBe(20);
  const hourlyAndOften = ok(readWhen({ cron: "0,30 * * * *", zone: "UTC" }));
  expect(countsWithin(hourlyAndOften, NOON, NOON + 3_600_000, { cellCount: 2, max: 20 })).toEqual([1, 1]);
});
