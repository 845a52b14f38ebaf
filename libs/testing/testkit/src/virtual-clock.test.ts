import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { VirtualClock } from "./index.js";

test("time advances only when the test advances it", () => {
  const clock = new VirtualClock(1000);
  expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1000, 0]);
  clock.advanceBy(250.5);
  expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1250, 250.5]);
  expect(() => clock.advanceTo(1000)).toThrow("time does not go back");
});

describe("timers", () => {
  test("fire at their due time, in order of due time and then of setting", () => {
    const clock = new VirtualClock(0);
    const log: string[] = [];
    const note = (name: string) => () => log.push(`${name}@${clock.nowMs()}`);
    clock.setTimer(20, note("c"));
    clock.setTimer(10, note("a"));
    clock.setTimer(20, note("d"));
    clock.setTimer(10, note("b"));
    clock.setTimer(-5, note("now"));
    clock.advanceTo(15);
    expect(log).toEqual(["now@0", "a@10", "b@10"]);
    expect(clock.nowMs()).toBe(15);
    clock.runAll();
    expect(log.slice(3)).toEqual(["c@20", "d@20"]);
  });

  test("set by timers fire in the same advance when they are due", () => {
    const clock = new VirtualClock(0);
    const log: number[] = [];
    clock.setTimer(10, () => {
      log.push(clock.nowMs());
      clock.setTimer(5, () => log.push(clock.nowMs()));
      clock.setTimer(0, () => log.push(clock.nowMs()));
      clock.setTimer(100, () => log.push(clock.nowMs()));
    });
    clock.advanceTo(50);
    expect(log).toEqual([10, 10, 15]);
    expect([clock.pendingTimers, clock.nextDueMs]).toEqual([1, 110]);
  });

  test("do not fire when cancelled, before or during the advance that would fire them", () => {
    const clock = new VirtualClock(0);
    const log: string[] = [];
    const later = clock.setTimer(20, () => log.push("late"));
    const early = clock.setTimer(5, () => log.push("early"));
    clock.setTimer(10, () => later.cancel());
    early.cancel();
    early.cancel();
    expect([clock.pendingTimers, clock.nextDueMs]).toEqual([2, 10]);
    clock.runAll();
    expect([log, clock.pendingTimers, clock.nextDueMs]).toEqual([[], 0, undefined]);
    later.cancel();
    expect(clock.pendingTimers).toBe(0);
  });

  test("beyond 24.8 days are nothing special", () => {
    const clock = new VirtualClock(0);
    let fired = 0;
    clock.setTimer(2 ** 40, () => fired++);
    clock.advanceTo(2 ** 40 - 1);
    expect(fired).toBe(0);
    expect(clock.runNext()).toBe(true);
    expect([fired, clock.nowMs(), clock.runNext()]).toEqual([1, 2 ** 40, false]);
  });

  test("that throw end the advance at their moment; the others stay", () => {
    const clock = new VirtualClock(0);
    clock.setTimer(10, () => {
      throw new Error("boom");
    });
    clock.setTimer(20, () => {});
    expect(() => clock.advanceTo(100)).toThrow("boom");
    expect([clock.nowMs(), clock.pendingTimers]).toEqual([10, 1]);
  });

  test("that arm each other for ever are reported", () => {
    const clock = new VirtualClock(0);
    const again = () => void clock.setTimer(1, again);
    again();
    expect(() => clock.runAll()).toThrow("timers keep arming each other");
  });

  test("need a delay that is a number", () => {
    expect(() => new VirtualClock().setTimer(Number.NaN, () => {})).toThrow("a delay must be a number");
  });

  test("fire as a sorted list would, for any mix of delays and cancellations", () => {
    const plan = fc.array(fc.record({ delay: fc.nat(50), cancelled: fc.boolean() }), { maxLength: 200 });
    fc.assert(
      fc.property(plan, (timers) => {
        const clock = new VirtualClock(0);
        const fired: number[] = [];
        const handles = timers.map(({ delay }, i) => clock.setTimer(delay, () => fired.push(i)));
        for (const [i, { cancelled }] of timers.entries()) if (cancelled) handles[i]!.cancel();
        clock.runAll();
        const expected = timers.map((timer, i) => ({ ...timer, i })).filter((timer) => !timer.cancelled);
        expect(fired).toEqual(expected.sort((a, b) => a.delay - b.delay || a.i - b.i).map((timer) => timer.i));
      }),
    );
  });
});
