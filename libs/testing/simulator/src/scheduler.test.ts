import { expect, test } from "@jest/globals";
import { SeededRandom } from "@perdure/testkit";
import { Scheduler } from "./scheduler.js";

/** Returns the order in which tasks and microtasks run that queue others, drawn from a seed; `soon` queues tasks. */
function order(seed: number, soon: (task: () => void) => void): Promise<string[]> {
  const random = new SeededRandom(seed);
  const log: string[] = [];
  let left = 60;
  let pending = 0;
  return new Promise((resolve) => {
    const run = (name: string): void => {
      log.push(name);
      for (let n = 1 + random.below(3); n > 0 && left > 0; n--) {
        const child = `${left--}`;
        pending++;
        if (random.chance(0.5)) soon(() => run(`task ${child}`));
        else queueMicrotask(() => run(`microtask ${child}`));
      }
      if (--pending === 0) resolve(log);
    };
    pending++;
    queueMicrotask(() => run("first"));
  });
}

test("events run one at a time, each after all that follows from the one before, until the condition holds or none is left", async () => {
  const scheduler = new Scheduler(1);
  const log: string[] = [];
  for (const name of ["first", "second", "third"]) {
    scheduler.after(5, () => {
      log.push(name);
      void Promise.resolve().then(() => log.push(`promise of ${name}`));
      scheduler.soon(() => log.push(`task of ${name}`));
    });
  }
  expect(await scheduler.run(() => scheduler.steps === 2)).toBe(true);
  expect(log).toEqual(["first", "promise of first", "task of first", "second", "promise of second", "task of second"]);
  expect(await scheduler.run(() => false)).toBe(false);
  expect([log.slice(6), scheduler.steps]).toEqual([["third", "promise of third", "task of third"], 3]);
});

test("an event that throws ends the run, and the events after it stay", async () => {
  const scheduler = new Scheduler(1);
  scheduler.after(1, () => {
    throw new Error("it broke");
  });
  scheduler.after(2, () => undefined);
  await expect(scheduler.run(() => false)).rejects.toThrow("it broke");
  expect(scheduler.clock.pendingTimers).toBe(1);
});

test("tasks run soon in the order of setImmediate: each after all microtasks, none before one given earlier", async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { soon } = new Scheduler(seed);
    expect(await order(seed, soon)).toEqual(await order(seed, setImmediate));
  }
});
