import { expect, test } from "@jest/globals";
import { longestPauses, VirtualClock } from "@perdure/testkit";
import { RETRY_FIRST_MS, RETRY_LONGEST_MS } from "./limits.js";
import { WorkQueue } from "./work-queue.js";

function aQueue(options = {}): {
  queue: WorkQueue;
  clock: VirtualClock;
  taken: (string | undefined)[];
  takeNext: () => Promise<void>;
} {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock, { random: longestPauses, ...options });
  const taken: (string | undefined)[] = [];
  const takeNext = async (): Promise<void> => void taken.push((await queue.take())?.key);
  return { queue, clock, taken, takeNext };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a key that waits waits once, and keys come in the order in which they were added", async () => {
  const { queue, taken, takeNext } = aQueue();
  for (const key of ["a", "b", "a"]) queue.add(key);
  expect(queue.depth).toBe(2);
  await takeNext();
  await takeNext();
  expect(taken).toEqual(["a", "b"]);
});

test("a key is never worked on twice at once; added meanwhile, it comes again afterwards", async () => {
  const { queue, taken, takeNext } = aQueue();
  queue.add("a");
  await takeNext();
  for (let n = 0; n < 200; n++) queue.add("a");
  const again = takeNext();
  await settled();
  expect(taken).toEqual(["a"]);
  queue.done("a");
  await again;
  expect(taken).toEqual(["a", "a"]);
  queue.done("a");
  expect(queue.depth).toBe(0);
});

test("what fails comes back later and later, until it worked", async () => {
  const { queue, clock, takeNext, taken } = aQueue();
  const pauses: number[] = [];
  for (let n = 0; n < 12; n++) {
    queue.retry("a");
    const before = clock.monotonicMs();
    clock.runNext();
    pauses.push(clock.monotonicMs() - before);
    await takeNext();
    queue.done("a");
  }
  expect(pauses.slice(0, 4)).toEqual([1, 2, 4, 8].map((factor) => factor * RETRY_FIRST_MS));
  expect(Math.max(...pauses)).toBe(RETRY_LONGEST_MS);
  expect(taken).toHaveLength(12);
  queue.forget("a");
  expect(queue.failuresOf("a")).toBe(0);
});

test("of several times the earliest counts, and a key that comes by itself is not visited again for it", async () => {
  const { queue, clock, takeNext } = aQueue();
  queue.addAfter("a", 5_000);
  queue.addAfter("a", 1_000);
  queue.addAfter("a", 9_000);
  expect(clock.pendingTimers).toBe(1);
  queue.add("a");
  expect(clock.pendingTimers).toBe(0);
  await takeNext();
  queue.done("a");
  expect(queue.depth).toBe(0);
});

test("keys are handed out no faster than agreed, after a first rush", async () => {
  const { queue, clock, taken, takeNext } = aQueue({ keysPerSecond: 10, keysAtOnce: 3 });
  for (let n = 0; n < 6; n++) queue.add(String(n));
  const all = Promise.all(Array.from({ length: 6 }, takeNext));
  await settled();
  expect(taken).toHaveLength(3);
  clock.advanceBy(101);
  await settled();
  expect(taken).toHaveLength(4);
  clock.advanceBy(1_000);
  await all;
  expect(taken).toHaveLength(6);
});

test("closed, it tells those who wait and leaves no timer", async () => {
  const { queue, clock, taken, takeNext } = aQueue();
  queue.addAfter("a", 1_000);
  const waiting = takeNext();
  queue.close();
  await waiting;
  queue.add("b");
  await takeNext();
  expect(taken).toEqual([undefined, undefined]);
  expect(clock.pendingTimers).toBe(0);
});
