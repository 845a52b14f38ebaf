import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { formatDuration, parseDuration } from "./index.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("a duration is read", () => {
  test.each([
    ["10s", 10_000],
    ["60 sec", 60_000],
    ["1 day 2 hours", 26 * HOUR],
    ["500ms", 500],
    ["1h30m", 1.5 * HOUR],
    ["1 h, 30 min", 1.5 * HOUR],
    ["2 days", 2 * DAY],
    ["1w", 7 * DAY],
    ["1.5h", 1.5 * HOUR],
    ["0.3s", 300],
    ["1,5s", 1500],
    ["0s", 0],
    ["1500us", 1],
    ["1500µs", 1],
    ["2000000ns", 2],
    ["  5m  ", 300_000],
    ["+5m", 300_000],
    ["PT60S", 60_000],
    ["P1DT2H", 26 * HOUR],
    ["P1W", 7 * DAY],
    ["PT0.5S", 500],
    ["PT1H30M", 1.5 * HOUR],
    ["pt1h30m", 1.5 * HOUR],
    ["PT0S", 0],
    ["0", 0],
    ["1:00:00", HOUR],
    ["100:60:03,5", 101 * HOUR + 3500],
    ["1d 01:02:03.5", DAY + HOUR + 123_500],
    ["1w, 2d1:0:0", 9 * DAY + HOUR],
  ])("from %p as %d ms", (text, ms) => {
    expect(parseDuration(text)).toEqual({ ok: true, ms });
  });

  test("from every spelling of every unit", () => {
    const sizes: [number, string[]][] = [
      [7 * DAY, ["w", "wk", "wks", "week", "weeks"]],
      [DAY, ["d", "day", "days"]],
      [HOUR, ["h", "hr", "hrs", "hour", "hours"]],
      [60_000, ["m", "min", "mins", "minute", "minutes"]],
      [1000, ["s", "sec", "secs", "second", "seconds"]],
      [1, ["ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds"]],
    ];
    for (const [ms, names] of sizes)
      for (const name of names) expect(parseDuration(`3${name}`)).toEqual({ ok: true, ms: 3 * ms });
  });
});

describe("a duration is refused", () => {
  test.each([
    ["", "an empty string is not a duration"],
    ["   ", "an empty string is not a duration"],
    ["-5s", "a duration cannot be negative"],
    ["5s ago", "every number needs a unit"],
    ["P1M", "please use units of days or smaller"],
    ["P1Y", "please use units of days or smaller"],
    ["1 year", "please use units of days or smaller"],
    ["2 months", "please use units of days or smaller"],
    ["1000", "every number needs a unit"],
    ["00", "every number needs a unit"],
    ["1:00", "every number needs a unit"],
    ["1h 1:00:00", "every number needs a unit"],
    ["1:00:00s", "every number needs a unit"],
    ["1:2:3:4", "every number needs a unit"],
    ["99999999999:00:00", "longer than 10000 years"],
    ["1 fortnight", "'fortnight' is not a unit of time"],
    ["abc", "every number needs a unit"],
    ["1S", "'S' is not a unit of time"],
    ["1MIN", "'MIN' is not a unit of time"],
    ["3 Days", "'Days' is not a unit of time"],
    ["5s 5s", "each at most once"],
    ["5s 5m", "from large to small"],
    ["1.5h 3m", "only the smallest unit may have a fraction"],
    ["PT1.5H3M", "only the smallest unit may have a fraction"],
    ["1.5d", "days and weeks cannot have a fraction"],
    ["P", "is not an ISO 8601 duration"],
    ["PT", "is not an ISO 8601 duration"],
    ["P1DT", "is not an ISO 8601 duration"],
    ["P1H", "is not an ISO 8601 duration"],
    ["99999999999d", "longer than 10000 years"],
    ["9".repeat(250), "every number needs a unit"],
    [`${"9".repeat(300)}s`, "the text is too long"],
  ])("when it is %p", (text, reason) => {
    const parsed = parseDuration(text);
    expect(parsed.ok ? "accepted" : parsed.reason).toContain(reason);
  });

  test("quickly, however the text is made", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("1", "0", ".", ",", " ", "h", "s", "m", "P", "T", "-"), maxLength: 300 }),
        (text) => {
          const parsed = parseDuration(text);
          if (parsed.ok) expect(Number.isSafeInteger(parsed.ms) && parsed.ms >= 0).toBe(true);
          else expect(parsed.reason).not.toBe("");
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("a duration is shown", () => {
  test.each([
    [26 * HOUR, "1d 2h"],
    [1500, "1s 500ms"],
    [1.5 * HOUR, "1h 30m"],
    [400 * DAY, "400d"],
    [0, "0s"],
    [-5, "0s"],
    [30_000, "30s"],
    [500, "500ms"],
    [60_000, "1m"],
    [0.4, "0s"],
  ])("%d ms as %p", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test("in a form that reads back as the same", () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(10 * DAY), fc.nat(315_576_000_000_000)), (ms) => {
        expect(parseDuration(formatDuration(ms))).toEqual({ ok: true, ms });
      }),
      { numRuns: 1000 },
    );
  });
});

test("ISO and friendly notation agree", () => {
  const amounts = fc.tuple(fc.nat(1000), fc.nat(1000), fc.nat(1000), fc.nat(1000));
  fc.assert(
    fc.property(amounts, ([d, h, m, s]) => {
      const ms = d * DAY + h * HOUR + m * 60_000 + s * 1000;
      expect(parseDuration(`P${d}DT${h}H${m}M${s}S`)).toEqual({ ok: true, ms });
      expect(parseDuration(`${d}d${h}h ${m} mins, ${s} seconds`)).toEqual({ ok: true, ms });
    }),
  );
});
