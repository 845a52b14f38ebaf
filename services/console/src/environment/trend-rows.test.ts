import { expect, test } from "@jest/globals";
import { NO_TREND, partialSince, trendLabel, trendsOf } from "./trend-rows.js";

const MINUTE_MS = 60_000;
const NOW = 1_000 * MINUTE_MS + 12_345;

test("minutes are added up to bars of three minutes, the newest last", () => {
  const trends = trendsOf(
    [
      { name: "Orders", at: 1_000 * MINUTE_MS, calls: 2, failed: 1 },
      { name: "Orders", at: 998 * MINUTE_MS, calls: 3, failed: 0 },
      { name: "Orders", at: 941 * MINUTE_MS, calls: 4, failed: 0 },
      { name: "Orders", at: 940 * MINUTE_MS, calls: 100, failed: 100 },
      { name: "Stock", at: 1_000 * MINUTE_MS, calls: 7, failed: 0 },
      { since: 5, calls: 9, failed: 9 },
    ],
    NOW,
  );
  const orders = trends.get("Orders") ?? NO_TREND;
  expect([...trends.keys()]).toEqual(["Orders", "Stock"]);
  expect({ ...orders, bars: orders.bars.totals }).toEqual({ calls: 9, failed: 1, bars: [4, ...Array(18).fill(0), 5] });
  expect(orders.bars.bad.at(-1)).toBe(1);
});

test("counts of a server whose clock is ahead belong to the last bar", () => {
  const trend = trendsOf([{ name: "Orders", at: 1_004 * MINUTE_MS, calls: 2, failed: 0 }], NOW).get("Orders");
  expect(trend?.bars.totals.at(-1)).toBe(2);
});

test("counters that begin within the hour are partial, older ones are not", () => {
  expect(partialSince([{ since: NOW - 10 * MINUTE_MS }, { since: NOW - 90 * MINUTE_MS }], NOW)).toBe(NOW - 10 * MINUTE_MS);
  expect(partialSince([{ since: NOW - 61 * MINUTE_MS }, { name: "Orders", since: NOW }], NOW)).toBeUndefined();
  expect(partialSince([], NOW)).toBeUndefined();
});

test("the label has the amounts that the bars show", () => {
  expect(trendLabel("Orders", NO_TREND)).toBe("Orders, last hour: 0 calls, 0 failed");
  const bars = { totals: [0, 1_200], bad: [1, 0] };
  expect(trendLabel("Orders", { bars, calls: 1_200, failed: 1 })).toBe(
    "Orders, last hour: 1,200 calls, 1 failed, at most 1,200 per 3 minutes",
  );
});
