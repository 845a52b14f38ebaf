import { expect, test } from "@jest/globals";
import { VirtualClock } from "@perdure/testkit";
import { memoryMibOf } from "./memory.js";
import { type HealthProblem, untilUnhealthy } from "./watchdog.js";

/** A process whose answers and memory a test decides, watched for some virtual seconds. */
function watched(memoryMibMax: number | undefined = 100) {
  const clock = new VirtualClock();
  const state = { answers: true, mib: 10 as number | undefined };
  const over = new AbortController();
  const result: { problem?: HealthProblem | undefined; isOver: boolean } = { isOver: false };
  const ports = { answers: async () => state.answers, memoryMib: () => state.mib, memoryMibMax, clock };
  untilUnhealthy(ports, over.signal).then((problem) => Object.assign(result, { problem, isOver: true }));
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) {
      clock.advanceBy(1_000);
      await new Promise(setImmediate);
    }
  };
  return { clock, state, over, result, pass };
}

test("one that answers and stays small is left alone, and nothing is left when the watch is over", async () => {
  const { clock, over, result, pass } = watched();
  await pass(300);
  expect(result.isOver).toBe(false);
  over.abort();
  await pass(1);
  expect(result).toEqual({ isOver: true, problem: undefined });
  expect(clock.pendingTimers).toBe(0);
});

test("a pause shorter than the timeout is not a problem; a longer one is", async () => {
  const { clock, state, result, pass } = watched();
  state.answers = false;
  await pass(25);
  state.answers = true;
  await pass(10);
  expect(result.isOver).toBe(false);
  state.answers = false;
  await pass(40);
  expect(result.problem).toEqual({ reason: "it did not answer for 30 s", atOnce: true });
  expect(clock.pendingTimers).toBe(0);
});

test("a machine that slept ends no runtime", async () => {
  const { clock, state, result, pass } = watched();
  await pass(10);
  state.answers = false; // The machine itself wakes up at the same time, and needs a moment.
  clock.advanceBy(3_600_000);
  await new Promise(setImmediate);
  await pass(10);
  state.answers = true;
  await pass(60);
  expect(result.isOver).toBe(false);
});

test("memory beyond the limit is a problem when it stays, and far beyond it at once", async () => {
  const short = watched();
  short.state.mib = 120;
  await short.pass(4);
  short.state.mib = 90;
  await short.pass(60);
  expect(short.result.isOver).toBe(false);
  short.state.mib = 120;
  await short.pass(8);
  expect(short.result.problem).toEqual({ reason: "it used 120 MiB of memory and may use 100", atOnce: false });

  const far = watched();
  far.state.mib = 151;
  await far.pass(2);
  expect(far.result.problem).toEqual({ reason: "it used 151 MiB of memory and may use 100", atOnce: true });
});

test("without a limit, and of a process that is gone, memory is not checked", async () => {
  for (const one of [watched(undefined), watched()]) {
    one.state.mib = one.result.isOver ? 0 : undefined;
    await one.pass(30);
    expect(one.result.isOver).toBe(false);
    one.over.abort();
  }
});

test("the memory of a process can be read while it runs", () => {
  expect(memoryMibOf(process.pid)).toBeGreaterThan(10);
  expect(memoryMibOf(2 ** 22 + 1)).toBeUndefined();
});
