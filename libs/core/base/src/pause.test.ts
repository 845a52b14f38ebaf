import { expect, test } from "@jest/globals";
import type { Clock } from "./clock.js";
import { pause } from "./pause.js";

/** A clock whose timers the test fires. */
function aClock() {
  const timers: { readonly delayMs: number; readonly fire: () => void; isCancelled: boolean }[] = [];
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    setTimer(delayMs, fire) {
      const timer = { delayMs, fire, isCancelled: false };
      timers.push(timer);
      return {
        cancel() {
          timer.isCancelled = true;
        },
      };
    },
  };
  return { clock, timers };
}

test("a pause ends after its time, and leaves no listener on the signal", async () => {
  const { clock, timers } = aClock();
  const stop = new AbortController();
  const ended = pause(clock, 500, stop.signal);
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([500]);
  timers[0]?.fire();
  await ended;
  stop.abort();
  expect(timers).toHaveLength(1);
});

test("a pause ends at once when its signal aborts, before or during it", async () => {
  const { clock, timers } = aClock();
  const stop = new AbortController();
  const ended = pause(clock, 500, stop.signal);
  stop.abort();
  await ended;
  expect(timers[0]?.isCancelled).toBe(true);
  await pause(clock, 500, stop.signal);
  expect(timers).toHaveLength(1);
});

test("a pause without a signal ends after its time", async () => {
  const { clock, timers } = aClock();
  const ended = pause(clock, 1);
  timers[0]?.fire();
  await ended;
});
