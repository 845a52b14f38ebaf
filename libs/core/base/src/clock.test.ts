import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { systemClock } from "./index.js";

const DAY = 86_400_000;

describe("the system's clock", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("fires a timer once, when its delay is over", () => {
    let fired = 0;
    systemClock.setTimer(1000, () => fired++);
    jest.advanceTimersByTime(999);
    expect(fired).toBe(0);
    jest.advanceTimersByTime(1);
    expect(fired).toBe(1);
    jest.advanceTimersByTime(100_000);
    expect(fired).toBe(1);
  });

  test("waits for months, although Node's timers fire at once beyond 24.8 days", () => {
    let fired = 0;
    systemClock.setTimer(100 * DAY, () => fired++);
    jest.advanceTimersByTime(100 * DAY - 1);
    expect(fired).toBe(0);
    jest.advanceTimersByTime(1);
    expect(fired).toBe(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  test("a cancelled timer never fires, not even in a later step of a long wait", () => {
    let fired = 0;
    const timer = systemClock.setTimer(100 * DAY, () => fired++);
    jest.advanceTimersByTime(60 * DAY);
    timer.cancel();
    timer.cancel();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(100 * DAY);
    expect(fired).toBe(0);
  });

  test("a delay in the past is not a delay", () => {
    let fired = 0;
    systemClock.setTimer(-5, () => fired++);
    jest.advanceTimersByTime(1);
    expect(fired).toBe(1);
  });

  test("returns the wall time of the machine, and a monotonic time", () => {
    jest.setSystemTime(1_795_246_690_990);
    expect(systemClock.nowMs()).toBe(1_795_246_690_990);
    const before = systemClock.monotonicMs();
    jest.advanceTimersByTime(250);
    jest.setSystemTime(0);
    expect(systemClock.monotonicMs() - before).toBe(250);
  });
});
