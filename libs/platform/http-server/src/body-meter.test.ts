import { expect, test } from "@jest/globals";
import { BodyMeter } from "./body-meter.js";
import { bodyBytesPerSecondMin, bodyRateWindowMs } from "./limits.js";

const ENOUGH = (bodyBytesPerSecondMin * bodyRateWindowMs) / 1_000;

test("a window that is not over proves nothing, and one with too few bytes is too slow", () => {
  const meter = new BodyMeter(0);
  expect(meter.isTooSlow(bodyRateWindowMs - 1)).toBe(false);
  meter.count(ENOUGH);
  expect(meter.isTooSlow(bodyRateWindowMs)).toBe(false);
  meter.count(ENOUGH - 1);
  expect(meter.isTooSlow(2 * bodyRateWindowMs)).toBe(true);
});

test("a window in which the receiver paused is not too slow, the next one may be", () => {
  const meter = new BodyMeter(0);
  meter.pause();
  expect(meter.isTooSlow(bodyRateWindowMs)).toBe(false);
  meter.paused = false; // Still paused as the second window began.
  expect(meter.isTooSlow(2 * bodyRateWindowMs)).toBe(false);
  expect(meter.isTooSlow(3 * bodyRateWindowMs)).toBe(true);
});
