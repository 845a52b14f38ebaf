import { expect, test } from "@jest/globals";
import { createdBetween, histogramOf, histogramStatement, rangeBetween } from "./histogram.js";
import { HISTOGRAM_BARS } from "./limits.js";

const FROM_MS = 1_795_000_000_000;
const TO_MS = FROM_MS + HISTOGRAM_BARS * 1_000;
const aRow = (bar: number, n: number, failed = 0) => ({ from_ms: FROM_MS, to_ms: TO_MS, bar, n, failed });

test("bars are of the range of the filter, or of the time from the first to the last", () => {
  expect(histogramStatement(undefined, {})).toContain("min(ms) OVER () AS from_ms, max(ms) OVER () + 1 AS to_ms");
  expect(histogramStatement("a OR b", { createdWithinMs: 60_000 })).toMatch(
    /epoch_ms\(now\(\)\) - 60000 AS from_ms.*WHERE a OR b/s,
  );
  expect(histogramStatement(undefined, { createdAfterMs: 5 })).toContain("5 AS from_ms, max(ms)");
});

test("each invocation is in its bar, those beyond the ends in the outermost", () => {
  const histogram = histogramOf([aRow(0, 2, 1), aRow(3, 7), aRow(HISTOGRAM_BARS, 1), aRow(-1, 1)]);
  expect(histogram?.bars).toHaveLength(HISTOGRAM_BARS);
  expect(histogram?.bars[0]).toEqual({ fromMs: FROM_MS, toMs: FROM_MS + 1_000, count: 3, failed: 1 });
  expect(histogram?.bars.at(-1)).toMatchObject({ toMs: TO_MS, count: 1 });
  expect(histogram?.countMax).toBe(7);
  expect([histogramOf([]), histogramOf([{ ...aRow(0, 1), to_ms: FROM_MS + 1 }])]).toEqual([undefined, undefined]);
});

test("a range that is drawn covers whole bars, in either direction and at the ends", () => {
  const histogram = histogramOf([aRow(0, 1)]);
  if (histogram === undefined) throw new Error("there is no histogram");
  const bar = (at: number) => (at + 0.5) / HISTOGRAM_BARS;
  expect(rangeBetween(histogram, bar(5), bar(2))).toEqual({ fromMs: FROM_MS + 2_000, toMs: FROM_MS + 6_000 });
  expect(rangeBetween(histogram, -1, 2)).toEqual({ fromMs: FROM_MS, toMs: TO_MS });
  expect(createdBetween({ services: ["Mail"], createdWithinMs: 5 }, 1, 2)).toEqual({
    services: ["Mail"],
    createdAfterMs: 1,
    createdBeforeMs: 2,
  });
});
