import { expect, test } from "@jest/globals";
import { Scheduler } from "../scheduler.js";
import { Trace } from "../trace.js";
import type { SimulatedWorld } from "../world.js";
import { SimulatedProcess } from "./body.js";

function bodyIn(scheduler: Scheduler): SimulatedProcess {
  return new SimulatedProcess("w0#1", {
    scheduler,
    trace: new Trace(false, () => scheduler.clock.monotonicMs()),
  } as Partial<SimulatedWorld> as SimulatedWorld);
}

test("what arrives while a process catches up after a pause comes after what waited", async () => {
  const scheduler = new Scheduler(1);
  const body = bodyIn(scheduler);
  const ran: number[] = [];
  body.pause(1_000);
  for (const number of [1, 2]) body.enter(() => ran.push(number));
  body.wake();
  body.enter(() => ran.push(3));
  await scheduler.run(() => false);
  expect(ran).toEqual([1, 2, 3]);
});

test("what has not run when a process is paused again waits in front of what arrives during the second pause", async () => {
  const scheduler = new Scheduler(1);
  const body = bodyIn(scheduler);
  const ran: number[] = [];
  body.pause(1_000);
  body.enter(() => {
    ran.push(1);
    body.pause(500);
    body.enter(() => ran.push(3));
  });
  body.enter(() => ran.push(2));
  body.wake();
  await scheduler.run(() => false);
  expect(ran).toEqual([1, 2, 3]);
});
