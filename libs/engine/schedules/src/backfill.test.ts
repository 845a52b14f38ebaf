import { describe, expect, test } from "@jest/globals";
import { backfillTimes } from "./backfill.js";
import type { ScheduleRecord } from "./schedule.js";
import { aSchedule } from "./testing/index.js";

const at = (text: string): number => Date.parse(text);

/** Times in UTC, as `day hour:minute`. */
function times(record: Partial<ScheduleRecord>, from: string, to: string): string[] {
  const range = backfillTimes(aSchedule(record), at(from), at(to));
  if (range.kind !== "times") throw new Error(`${range.count} times`);
  return range.timesMs.map((ms) => new Date(ms).toISOString().slice(8, 16).replace("T", " "));
}

describe("the times of a backfill", () => {
  test("include the begin of the range and not its end", () => {
    const hourly = { cron: "0 * * * *" };
    expect(times(hourly, "2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z")).toEqual(["20 10:00", "20 11:00"]);
    expect(times(hourly, "2026-11-20T10:00:00.001Z", "2026-11-20T12:00:00.001Z")).toEqual(["20 11:00", "20 12:00"]);
    expect(times(hourly, "2026-11-20T10:00:01Z", "2026-11-20T11:00:00Z")).toEqual([]);
    expect(times({ cron: "every 90m" }, "1970-01-01T01:30:00Z", "1970-01-01T04:30:00Z")).toEqual(["01 01:30", "01 03:00"]);
  });

  test("follow the clocks of the zone", () => {
    const night = { cron: "30 2 * * *", zone: "Europe/Berlin" };
    expect(times(night, "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z")).toEqual(["28 01:30", "29 01:00", "30 00:30"]);
    expect(times(night, "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z")).toEqual(["24 00:30", "25 00:30", "26 01:30"]);
    const hourly = { cron: "30 * * * *", zone: "Europe/Berlin" };
    expect(times(hourly, "2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z")).toEqual(["25 00:30", "25 01:30", "25 02:30"]);
  });

  test("stay within start and end of the schedule, and regard nothing else of it", () => {
    const bounded = { cron: "@daily", startAtMs: at("2026-11-03T00:00:00Z"), endAtMs: at("2026-11-05T00:00:00Z") };
    expect(times(bounded, "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")).toEqual(["03 00:00", "04 00:00", "05 00:00"]);
    const state = { isPaused: true, decidedThroughMs: at("2026-11-30T00:00:00Z"), firedCount: 5 };
    const schedule = aSchedule({ cron: "@daily", firingsMax: 1, jitterMs: 60_000 }, state);
    const two = [at("2026-11-01T00:00:00Z"), at("2026-11-02T00:00:00Z")];
    expect(backfillTimes(schedule, two[0]!, two[1]! + 1)).toEqual({ kind: "times", timesMs: two });
  });

  test("are at most a thousand; beyond it the count and the end of the first thousand are returned", () => {
    const minutes = (count: number) => backfillTimes(aSchedule(), 0, count * 60_000);
    expect(minutes(1000)).toMatchObject({ kind: "times", timesMs: { length: 1000 } });
    const fitsBeforeMs = 1000 * 60_000;
    expect(minutes(1001)).toEqual({ kind: "tooMany", count: 1001, isLowerBound: false, fitsBeforeMs });
    expect(minutes(10_000)).toEqual({ kind: "tooMany", count: 10_000, isLowerBound: false, fitsBeforeMs });
    expect(minutes(10_001)).toEqual({ kind: "tooMany", count: 10_000, isLowerBound: true, fitsBeforeMs });
    expect(backfillTimes(aSchedule(), 0, fitsBeforeMs)).toMatchObject({ timesMs: { length: 1000 } });
  });
});
