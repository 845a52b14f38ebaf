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

test("tasks run soon in the order of setImmediate: each after all microtasks, none before one given earlier", async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const { soon } = new Scheduler(seed);
    expect(await order(seed, soon)).toEqual(await order(seed, setImmediate));
  }
});
