import { describe, expect, test } from "@jest/globals";
import { parseRecurrence } from "./cron.js";
import { timetableOf } from "./timetable.js";
import { zoneOf } from "./zone.js";

/** Returns the next `count` fire times in UTC, without the parts that are always the same. */
function fires(expression: string, from: string, count: number): string[] {
  const parsed = parseRecurrence(expression);
  if (!parsed.ok) throw new Error(parsed.reason);
  const timetable = timetableOf(parsed.value, zoneOf("UTC")!, 0);
  const times: string[] = [];
  for (let at: number | undefined = Date.parse(from); times.length < count; ) {
    at = timetable.next(at);
    if (at === undefined) break;
    times.push(new Date(at).toISOString().replace(":00.000Z", "").replace(".000Z", ""));
  }
  return times;
}

// 2026-11-21 is a Saturday.
test.each<[expression: string, times: string[]]>([
  ["* * * * *", ["2026-11-21T12:01", "2026-11-21T12:02"]],
  ["*/20 * * * *", ["2026-11-21T12:20", "2026-11-21T12:40", "2026-11-21T13:00"]],
  ["5/25 * * * *", ["2026-11-21T12:05", "2026-11-21T12:30", "2026-11-21T12:55", "2026-11-21T13:05"]],
  ["10-40/15,7 13 * * *", ["2026-11-21T13:07", "2026-11-21T13:10", "2026-11-21T13:25", "2026-11-21T13:40", "2026-11-22T13:07"]],
  ["30 2 * * MON-FRI", ["2026-11-23T02:30", "2026-11-24T02:30"]],
  ["0 0 * * 7", ["2026-11-22T00:00", "2026-11-29T00:00"]],
  ["0 0 * * SAT-SUN", ["2026-11-22T00:00", "2026-11-28T00:00", "2026-11-29T00:00"]],
  ["0 0 * * fri", ["2026-11-27T00:00"]],
  ["*/30 59 23 31 DEC *", ["2026-12-31T23:59", "2026-12-31T23:59:30", "2027-12-31T23:59"]],
  ["* * * * * *", ["2026-11-21T12:00:01", "2026-11-21T12:00:02"]],
  ["0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00"]],
  ["0 0 L * *", ["2026-11-30T00:00", "2026-12-31T00:00", "2027-01-31T00:00", "2027-02-28T00:00"]],
  ["0 0 L-2 2 *", ["2027-02-26T00:00", "2028-02-27T00:00"]],
  ["0 0 31 * *", ["2026-12-31T00:00", "2027-01-31T00:00", "2027-03-31T00:00"]],
  [
    "0 0 1W * *",
    ["2026-12-01T00:00", "2027-01-01T00:00", "2027-02-01T00:00", "2027-03-01T00:00", "2027-04-01T00:00", "2027-05-03T00:00"],
  ],
  ["0 0 28W 11 *", ["2026-11-27T00:00", "2027-11-29T00:00"]],
  ["0 0 LW * *", ["2026-11-30T00:00", "2026-12-31T00:00", "2027-01-29T00:00"]],
  ["0 0 * * FRI#2", ["2026-12-11T00:00", "2027-01-08T00:00"]],
  ["0 0 * * 5L", ["2026-11-27T00:00", "2026-12-25T00:00", "2027-01-29T00:00"]],
  ["0 0 * * MON#5", ["2026-11-30T00:00", "2027-03-29T00:00"]],
  ["0 0 * 2 MON#5", ["2044-02-29T00:00", "2072-02-29T00:00"]],
  ["0 0 13 * FRI", ["2026-11-27T00:00", "2026-12-04T00:00", "2026-12-11T00:00", "2026-12-13T00:00"]],
  ["0 0 ? * MON", ["2026-11-23T00:00"]],
  ["@yearly", ["2027-01-01T00:00", "2028-01-01T00:00"]],
  ["@monthly", ["2026-12-01T00:00"]],
  ["@weekly", ["2026-11-22T00:00"]],
  ["@Daily", ["2026-11-22T00:00"]],
  ["@hourly", ["2026-11-21T13:00", "2026-11-21T14:00"]],
  ["every 15m", ["2026-11-21T12:15", "2026-11-21T12:30"]],
  ["@every 1h30m", ["2026-11-21T13:30", "2026-11-21T15:00"]],
])("%s", (expression, times) => {
  expect(fires(expression, "2026-11-21T12:00:00Z", times.length)).toEqual(times);
});

describe("an invalid expression is rejected with a reason", () => {
  test.each([
    ["", "it has 0 fields"],
    ["* * * *", "it has 4 fields"],
    ["* * * * * * *", "it has 7 fields"],
    ["60 * * * *", "'60' is not a minute from 0 to 59"],
    ["* 24 * * *", "'24' is not a hour from 0 to 23"],
    ["* * 0 * *", "'0' is not a day of month from 1 to 31"],
    ["* * * 13 *", "'13' is not a month from 1 to 12"],
    ["* * * * 8", "'8' is not a day of week from 0 to 7"],
    ["* * * * MON#6", "'6' is not a day of week from 1 to 5"],
    ["* * * FOO *", "'FOO' is not a month"],
    ["-1 * * * *", "'' is not a minute"],
    ["1- * * * *", "'' is not a minute"],
    ["1,, * * * *", "'' is not a minute"],
    ["*/0 * * * *", "'0' is not a minute from 1 to 60"],
    ["*/2/3 * * * *", "more than one '/'"],
    ["1-2-3 * * * *", "is not a range"],
    ["30-10 * * * *", "runs backwards"],
    ["* * * * FRI-MON", "runs backwards"],
    ["1.5 * * * *", "'1.5' is not a minute"],
    ["@reboot", "unknown nickname '@reboot'"],
    ["@toString", "unknown nickname"],
    ["every soon", "'soon' is not a duration"],
    ["every 10ms", "from 1 second to 366 days"],
    ["every 400d", "from 1 second to 366 days"],
    [`${"1,".repeat(200)}1 * * * *`, "longer than 256 characters"],
  ])("%s", (expression, reason) => {
    const parsed = parseRecurrence(expression);
    expect(parsed.ok ? undefined : parsed.reason).toContain(reason);
  });
});

test.each(["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 L-30 2 *"])("a date that no calendar has never comes: %s", (expression) => {
  expect(fires(expression, "2026-01-01T00:00:00Z", 1)).toEqual([]);
});
