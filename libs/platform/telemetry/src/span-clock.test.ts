import { expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { spanTimeMs } from "./span-clock.js";

function aClock() {
  const times = { wallMs: 1_700_000_000_000, monotonicMs: 5_000.25 };
  return { times, clock: { ...systemClock, nowMs: () => Math.floor(times.wallMs), monotonicMs: () => times.monotonicMs } };
}

test("times of spans have fractions of a millisecond, and continue with the monotonic clock", () => {
  const { times, clock } = aClock();
  expect(spanTimeMs(clock)).toBe(1_700_000_000_000);
  times.monotonicMs += 0.125;
  times.wallMs += 0.125;
  expect(spanTimeMs(clock)).toBe(1_700_000_000_000.125);
});

test("they follow the wall clock when it is set", () => {
  const { times, clock } = aClock();
  spanTimeMs(clock);
  times.wallMs += 3_600_000;
  times.monotonicMs += 1;
  expect(spanTimeMs(clock)).toBe(1_700_003_600_000);
  times.wallMs -= 7_200_000;
  expect(spanTimeMs(clock)).toBe(1_699_996_400_000);
});
