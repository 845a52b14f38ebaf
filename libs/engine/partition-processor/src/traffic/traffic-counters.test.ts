import { describe, expect, test } from "@jest/globals";
import type { TrafficCount } from "@perdure/storage";
import { RESOLUTIONS, SERVICES_MAX } from "./limits.js";
import { TrafficCounters } from "./traffic-counters.js";

const NOON = Date.parse("2026-11-27T12:00:00Z");
const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 86_400_000;

const of = (counters: TrafficCounters, periodMs: number, nowMs = NOON): readonly TrafficCount[] =>
  [...counters.counts(nowMs)].filter((count) => count.periodMs === periodMs);

test("an invocation is counted in the period in which it was created, and in the one in which it completed", () => {
  const counters = new TrafficCounters();
  counters.created("Greeter", NOON - 61_000);
  counters.completed("Greeter", NOON - 59_000, 2_000, true);
  counters.completed("Greeter", NOON - 59_000, 2_000, false);
  const none = { created: 0, completed: 0, failed: 0 };
  expect(of(counters, MINUTE_MS)).toEqual([
    { ...none, periodMs: MINUTE_MS, startsAtMs: NOON - 120_000, service: "Greeter", durationMsMax: undefined, created: 1 },
    {
      ...none,
      periodMs: MINUTE_MS,
      startsAtMs: NOON - 60_000,
      service: "Greeter",
      durationMsMax: 2_048,
      completed: 2,
      failed: 1,
    },
  ]);
});

test.each([
  [-5, 1],
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 3],
  [4, 4],
  [5, 6],
  [1_000, 1_024],
  [1_024, 1_024],
  [1_025, 1_448],
  [Number.MAX_SAFE_INTEGER, 316_224_000_000],
])("a duration of %d ms is in the class up to %d ms", (durationMs, durationMsMax) => {
  const counters = new TrafficCounters();
  counters.completed("S", NOON, durationMs, false);
  expect(of(counters, MINUTE_MS)).toMatchObject([{ durationMsMax, completed: 1 }]);
});

describe("a counter is bounded", () => {
  test("periods beyond the time range are dropped, whether or not new ones came", () => {
    const counters = new TrafficCounters();
    for (let atMs = NOON - WEEK_MS; atMs <= NOON; atMs += MINUTE_MS) counters.created("S", atMs);
    const counts = [...counters.counts(NOON)];
    for (const { periodMs, count } of RESOLUTIONS) {
      const starts = new Set(counts.filter((each) => each.periodMs === periodMs).map(({ startsAtMs }) => startsAtMs));
      expect(starts.size).toBeLessThanOrEqual(count + 1);
      expect(Math.min(...starts)).toBeGreaterThanOrEqual(NOON - count * periodMs);
    }
    expect([...counters.counts(NOON + 2 * WEEK_MS)]).toEqual([]);
  });

  test("a service too many makes the counts incomplete", () => {
    const counters = new TrafficCounters();
    for (let n = 0; n < SERVICES_MAX; n++) counters.created(`S${n}`, NOON);
    expect(counters.isComplete).toBe(true);
    counters.created("another", NOON);
    expect(counters.isComplete).toBe(false);
    expect(of(counters, MINUTE_MS)).toHaveLength(SERVICES_MAX);
  });
});
