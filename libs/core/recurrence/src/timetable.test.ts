import { describe, expect, test } from "@jest/globals";
import { parseRecurrence } from "./cron.js";
import { timetableOf } from "./timetable.js";
import { zoneOf } from "./zone.js";

function timetable(expression: string, zone: string, anchorMs = 0) {
  const parsed = parseRecurrence(expression);
  if (!parsed.ok) throw new Error(parsed.reason);
  return timetableOf(parsed.value, zoneOf(zone)!, anchorMs);
}

/** Fire times in UTC within `[from, to)`, as `day hour:minute`. */
function between(expression: string, zone: string, from: string, to: string): string[] {
  const table = timetable(expression, zone);
  const times: string[] = [];
  for (let at = table.next(Date.parse(from) - 1); at !== undefined && at < Date.parse(to); at = table.next(at)) {
    times.push(new Date(at).toISOString().slice(8, 16).replace("T", " "));
  }
  return times;
}

describe("in spring", () => {
  // Berlin 2026-03-29: 02:00 → 03:00, at 01:00 UTC.
  const berlin = (expression: string) => between(expression, "Europe/Berlin", "2026-03-28T22:30:00Z", "2026-03-30T01:00:00Z");

  test("a time in the gap fires at the first instant after it", () => {
    expect(berlin("30 2 * * *")).toEqual(["29 01:00", "30 00:30"]);
  });
  test("many times in the gap fire once, and so do they with the time at its end", () => {
    expect(berlin("*/15 2 * * *")).toEqual(["29 01:00", "30 00:00", "30 00:15", "30 00:30", "30 00:45"]);
    expect(berlin("0 2,3 * * *")).toEqual(["29 01:00", "30 00:00"]);
    expect(berlin("0 */2 * * *").slice(0, 4)).toEqual(["28 23:00", "29 01:00", "29 02:00", "29 04:00"]);
  });
  test("times beside the gap stay where they are", () => {
    expect(berlin("59 1 * * *")).toEqual(["29 00:59", "29 23:59"]);
    expect(berlin("0 3 * * *")).toEqual(["29 01:00"]);
    expect(berlin("1 3 * * *")).toEqual(["29 01:01"]);
  });
  test("an expression that matches every hour follows elapsed time", () => {
    expect(berlin("30 * * * *").slice(0, 5)).toEqual(["28 22:30", "28 23:30", "29 00:30", "29 01:30", "29 02:30"]);
    expect(berlin("0 0-23 * * *").slice(0, 4)).toEqual(["28 23:00", "29 00:00", "29 01:00", "29 02:00"]);
  });
});

describe("in autumn", () => {
  // Berlin 2026-10-25: 03:00 → 02:00, at 01:00 UTC.
  const berlin = (expression: string) => between(expression, "Europe/Berlin", "2026-10-24T23:30:00Z", "2026-10-26T02:00:00Z");

  test("a time in the overlap fires once, the first time", () => {
    expect(berlin("30 2 * * *")).toEqual(["25 00:30", "26 01:30"]);
    expect(berlin("*/20 2 * * *")).toEqual(["25 00:00", "25 00:20", "25 00:40", "26 01:00", "26 01:20", "26 01:40"]);
    expect(berlin("0 3 * * *")).toEqual(["25 02:00"]);
  });
  test("an expression that matches every hour fires in both halves", () => {
    expect(berlin("30 * * * *").slice(0, 5)).toEqual(["24 23:30", "25 00:30", "25 01:30", "25 02:30", "25 03:30"]);
    expect(berlin("*/30 * * * *").slice(0, 5)).toEqual(["24 23:30", "25 00:00", "25 00:30", "25 01:00", "25 01:30"]);
  });
  test("a search that begins in the second half does not go back to the first", () => {
    const second = Date.parse("2026-10-25T01:10:00Z");
    expect(timetable("30 2 * * *", "Europe/Berlin").next(second)).toBe(Date.parse("2026-10-26T01:30:00Z"));
    expect(timetable("30 * * * *", "Europe/Berlin").next(second)).toBe(Date.parse("2026-10-25T01:30:00Z"));
  });
});

describe("in other zones", () => {
  test.each<[zone: string, why: string, expression: string, from: string, to: string, times: string[]]>([
    ["America/New_York", "gap of 2026-03-08", "30 2 * * *", "2026-03-07T12:00Z", "2026-03-09T12:00Z", ["08 07:00", "09 06:30"]],
    [
      "America/New_York",
      "overlap of 2026-11-01",
      "30 1 * * *",
      "2026-10-31T12:00Z",
      "2026-11-02T12:00Z",
      ["01 05:30", "02 06:30"],
    ],
    [
      "Australia/Lord_Howe",
      "gap of half an hour",
      "15 2 * * *",
      "2026-10-03T00:00Z",
      "2026-10-05T00:00Z",
      ["03 15:30", "04 15:15"],
    ],
    [
      "Australia/Lord_Howe",
      "overlap of half an hour",
      "45 1 * * *",
      "2026-04-04T00:00Z",
      "2026-04-06T00:00Z",
      ["04 14:45", "05 15:15"],
    ],
    ["Antarctica/Troll", "gap of two hours", "30 1 * * *", "2026-03-28T12:00Z", "2026-03-30T12:00Z", ["29 01:00", "29 23:30"]],
    ["Asia/Beirut", "gap at midnight", "0 0 * * *", "2026-03-28T12:00Z", "2026-03-30T12:00Z", ["28 22:00", "29 21:00"]],
    ["America/Havana", "overlap at midnight", "30 0 * * *", "2026-10-31T12:00Z", "2026-11-02T12:00Z", ["01 04:30", "02 05:30"]],
    [
      "Pacific/Apia",
      "a day that was left out",
      "0 9 * * *",
      "2011-12-29T00:00Z",
      "2012-01-01T00:00Z",
      ["29 19:00", "30 10:00", "30 19:00", "31 19:00"],
    ],
    [
      "Africa/Casablanca",
      "an hour back for Ramadan",
      "30 2 * * *",
      "2026-02-14T12:00Z",
      "2026-02-16T12:00Z",
      ["15 01:30", "16 02:30"],
    ],
    [
      "Europe/Dublin",
      "summer time that is called standard",
      "30 1 * * *",
      "2026-03-28T12:00Z",
      "2026-03-30T12:00Z",
      ["29 01:00", "30 00:30"],
    ],
    [
      "Asia/Kolkata",
      "no change at all, half an hour off",
      "0 9 * * *",
      "2026-03-28T12:00Z",
      "2026-03-30T12:00Z",
      ["29 03:30", "30 03:30"],
    ],
    [
      "Pacific/Kiritimati",
      "fourteen hours ahead",
      "0 9 * * *",
      "2026-03-28T12:00Z",
      "2026-03-30T12:00Z",
      ["28 19:00", "29 19:00"],
    ],
  ])("%s: %s", (zone, _why, expression, from, to, times) => {
    expect(between(expression, zone, from, to)).toEqual(times);
  });

  test.each(["Mars/Olympus", "", "+02:00", "Europe/Berlin ", "UTC+1", "../etc", "Europe/Berlin\n"])(
    "%j is not a zone",
    (name) => {
      expect(zoneOf(name)).toBeUndefined();
    },
  );
});

describe("intervals", () => {
  test("count from their anchor, independent of clock changes", () => {
    const anchor = Date.parse("2026-10-25T00:00:07.250Z");
    const table = timetable("every 90m", "Europe/Berlin", anchor);
    expect(table.next(anchor - 1)).toBe(anchor);
    expect(table.next(anchor)).toBe(anchor + 5_400_000);
    expect(table.previous(anchor, anchor - 10_000_000)).toBe(anchor - 5_400_000);
    expect(table.previous(anchor, anchor - 5_400_000)).toBeUndefined();
  });
});

describe("searching backwards", () => {
  test.each(["* * * * * *", "30 2 * * *", "0 0 29 2 *", "*/7 3 * * MON", "30 * * * *"])(
    "finds, backwards, the fire times that the forward search passed: %s",
    (expression) => {
      const table = timetable(expression, "Europe/Berlin");
      let at: number | undefined = Date.parse("2026-03-28T20:00:00Z");
      for (let i = 0; i < 20 && at !== undefined; i++) {
        const following: number | undefined = table.next(at);
        if (following === undefined) break;
        expect(table.previous(following + 1, at - 1)).toBe(following);
        const before = table.previous(following, at);
        expect(before).toBeUndefined();
        at = following;
      }
    },
  );
});
