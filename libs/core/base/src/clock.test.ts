import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import FakeTimers, { type Clock } from "@sinonjs/fake-timers";
import { systemClock } from "./index.js";

const DAY = 86_400_000;

describe("the system's clock", () => {
  let fake: Clock;
  beforeEach(() => {
    fake = FakeTimers.install();
  });
  afterEach(() => fake.uninstall());

  test("fires a timer once, when its delay is over", () => {
    let fired = 0;
    systemClock.setTimer(1000, () => fired++);
    fake.tick(999);
    expect(fired).toBe(0);
    fake.tick(1);
    expect(fired).toBe(1);
    fake.tick(100_000);
    expect(fired).toBe(1);
  });

  test("waits for months, although Node's timers fire at once beyond 24.8 days", () => {
    let fired = 0;
    systemClock.setTimer(100 * DAY, () => fired++);
    fake.tick(100 * DAY - 1);
    expect(fired).toBe(0);
    fake.tick(1);
    expect(fired).toBe(1);
    expect(fake.countTimers()).toBe(0);
  });

  test("a cancelled timer never fires, not even in a later step of a long wait", () => {
    let fired = 0;
    const timer = systemClock.setTimer(100 * DAY, () => fired++);
    fake.tick(60 * DAY);
    timer.cancel();
    timer.cancel();
    expect(fake.countTimers()).toBe(0);
    fake.tick(100 * DAY);
    expect(fired).toBe(0);
  });

  test("a delay in the past is not a delay", () => {
    let fired = 0;
    systemClock.setTimer(-5, () => fired++);
    fake.tick(1);
    expect(fired).toBe(1);
  });

  test("returns the wall time of the machine, and a monotonic time", () => {
    fake.setSystemTime(1_795_246_690_990);
    expect(systemClock.nowMs()).toBe(1_795_246_690_990);
    const before = systemClock.monotonicMs();
    fake.tick(250);
    fake.setSystemTime(0);
    expect(systemClock.monotonicMs() - before).toBe(250);
  });
});
