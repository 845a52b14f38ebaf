import { describe, expect, test } from "@jest/globals";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { AttemptDeadlines, type DeadlineWaiter, type Ticket } from "./deadlines.js";

describe("deadlines", () => {
  test("fire exactly after their delay, whichever waits are added and removed before, behind one timer for each delay", () => {
    const clock = new VirtualClock();
    const deadlines = new AttemptDeadlines(clock);
    const random = new SeededRandom(1);
    const due = new Map<DeadlineWaiter, { ticket: Ticket; atMs: number }>();
    let fired = 0;
    for (let step = 0; step < 5_000; step++) {
      if (random.chance(0.6)) {
        const delayMs = random.pick([50, 700, 5_000]);
        const waiting: DeadlineWaiter = {
          deadlineReached() {
            expect(clock.monotonicMs()).toBe(due.get(waiting)?.atMs);
            due.delete(waiting);
            fired++;
            if (random.chance(0.1)) ticket.cancel(); // Harmless: it waits no longer.
          },
        };
        const ticket = deadlines.add(waiting, delayMs);
        due.set(waiting, { ticket, atMs: clock.monotonicMs() + delayMs });
      } else if (due.size > 0 && random.chance(0.5)) {
        const [waiting, { ticket }] = random.pick([...due]);
        ticket.cancel();
        due.delete(waiting);
      }
      expect(clock.pendingTimers).toBeLessThanOrEqual(3);
      if (random.chance(0.2)) clock.advanceBy(random.below(100));
    }
    clock.advanceBy(5_000);
    expect([due.size, clock.pendingTimers]).toEqual([0, 0]);
    expect(fired).toBeGreaterThan(1_000);
  });

  test("a wait may start again from inside its deadline without delaying the waits behind it", () => {
    const clock = new VirtualClock();
    const deadlines = new AttemptDeadlines(clock);
    const times: number[] = [];
    const behind: number[] = [];
    clock.setTimer(3, () => deadlines.add({ deadlineReached: () => behind.push(clock.monotonicMs()) }, 10));
    const waiting: DeadlineWaiter = {
      deadlineReached() {
        times.push(clock.monotonicMs());
        if (times.length < 3) deadlines.add(waiting, 10);
      },
    };
    deadlines.add(waiting, 10);
    clock.advanceBy(100);
    expect(times).toEqual([10, 20, 30]);
    expect(behind).toEqual([13]);
    expect(clock.pendingTimers).toBe(0);
  });
});
