import { expect, test } from "@jest/globals";
import { longestPauses, SeededRandom, VirtualClock } from "@perdure/testkit";
import { AGED_EVERY, AGED_MS, RETRY_FIRST_MS, RETRY_LONGEST_MS } from "./limits.js";
import { PRIORITIES, type Priority, WorkQueue } from "./work-queue.js";

function aQueue(options = {}): {
  queue: WorkQueue;
  clock: VirtualClock;
  acquired: (string | undefined)[];
  takeNext: () => Promise<void>;
} {
  const clock = new VirtualClock();
  const queue = new WorkQueue(clock, { random: longestPauses, ...options });
  const acquired: (string | undefined)[] = [];
  const takeNext = async (): Promise<void> => void acquired.push((await queue.take())?.key);
  return { queue, clock, acquired, takeNext };
}

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a key that waits waits once, and keys come in the order in which they were added", async () => {
  const { queue, acquired, takeNext } = aQueue();
  for (const key of ["a", "b", "a"]) queue.add(key);
  expect(queue.depth).toBe(2);
  await takeNext();
  await takeNext();
  expect(acquired).toEqual(["a", "b"]);
});

test("a key is never worked on twice at once; added meanwhile, it comes again afterwards", async () => {
  const { queue, acquired, takeNext } = aQueue();
  queue.add("a");
  await takeNext();
  for (let n = 0; n < 200; n++) queue.add("a");
  const again = takeNext();
  await nextTick();
  expect(acquired).toEqual(["a"]);
  queue.done("a");
  await again;
  expect(acquired).toEqual(["a", "a"]);
  queue.done("a");
  expect(queue.depth).toBe(0);
});

test("what fails comes back later and later, until it worked", async () => {
  const { queue, clock, takeNext, acquired } = aQueue();
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
  expect(acquired).toHaveLength(12);
  queue.clearFailures("a");
  expect(queue.failuresOf("a")).toBe(0);
});

test("of several times the earliest counts, and a key that comes by itself is not processed again for it", async () => {
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

test("a delay requested while a key is processed begins when it is done, and is dropped when the key was added meanwhile", async () => {
  const { queue, clock, takeNext } = aQueue();
  queue.add("a");
  await takeNext();
  queue.addAfter("a", 5_000);
  queue.addAfter("a", 1_000);
  clock.advanceBy(2_000);
  expect(queue.depth).toBe(0);
  queue.done("a");
  clock.advanceBy(999);
  expect(queue.depth).toBe(0);
  clock.advanceBy(1);
  expect(queue.depth).toBe(1);
  await takeNext();
  queue.addAfter("a", 1_000);
  queue.add("a");
  queue.done("a");
  expect([queue.depth, clock.pendingTimers]).toEqual([1, 0]);
});

test("keys are handed out no faster than agreed, after a first rush", async () => {
  const { queue, clock, acquired, takeNext } = aQueue({ keysPerSecond: 10, keysAtOnce: 3 });
  for (let n = 0; n < 6; n++) queue.add(String(n));
  const all = Promise.all(Array.from({ length: 6 }, takeNext));
  await nextTick();
  expect(acquired).toHaveLength(3);
  clock.advanceBy(101);
  await nextTick();
  expect(acquired).toHaveLength(4);
  clock.advanceBy(1_000);
  await all;
  expect(acquired).toHaveLength(6);
});

test("closing ends waiting calls and leaves no timer", async () => {
  const { queue, clock, acquired, takeNext } = aQueue();
  queue.addAfter("a", 1_000);
  const waiting = takeNext();
  queue.close();
  await waiting;
  queue.add("b");
  await takeNext();
  expect(acquired).toEqual([undefined, undefined]);
  expect(clock.pendingTimers).toBe(0);
});

/** Keys in the order in which a single worker gets them, without any time between them. */
async function drained(queue: WorkQueue): Promise<readonly string[]> {
  const order: string[] = [];
  while (queue.depth > 0) {
    const acquired = await queue.take();
    if (acquired === undefined) break;
    order.push(acquired.key);
    queue.done(acquired.key);
  }
  return order;
}

test("keys of users' changes come before creations, and these before resyncs", async () => {
  const { queue } = aQueue();
  queue.add("resynced", "resync");
  for (let n = 0; n < 50; n++) queue.add(`new ${n}`, "creation");
  queue.add("part", "progress");
  queue.add("changed", "urgent");
  queue.add("new 49", "urgent");
  const order = await drained(queue);
  expect(order.slice(0, 4)).toEqual(["changed", "new 49", "part", "new 0"]);
  expect(order.at(-1)).toBe("resynced");
  expect(order).toHaveLength(53);
});

test("the higher one of two priorities counts, also for a key that is worked on or comes later", async () => {
  const { queue, takeNext } = aQueue();
  queue.add("a", "creation");
  await takeNext();
  queue.add("a", "resync");
  queue.add("a", "urgent");
  queue.add("a", "creation");
  queue.add("b", "progress");
  queue.addAfter("c", 1_000, "urgent");
  queue.add("c", "resync");
  queue.done("a");
  expect(await drained(queue)).toEqual(["c", "a", "b"]);
});

test("a key that fails returns with its priority, but not before users' changes", async () => {
  const { queue, clock, takeNext } = aQueue();
  for (const [key, priority] of [
    ["a", "urgent"],
    ["b", "creation"],
  ] as const) {
    queue.add(key, priority);
    await takeNext();
    queue.retry(key);
    queue.done(key);
  }
  queue.add("new", "creation");
  queue.add("changed", "urgent");
  clock.advanceBy(RETRY_FIRST_MS);
  expect(await drained(queue)).toEqual(["changed", "a", "new", "b"]);
});

test("creations leave capacity for others: only so many are processed at one time", async () => {
  const { queue, acquired, takeNext } = aQueue({ bulkAtOnce: 2 });
  for (const key of ["a", "b", "c"]) queue.add(key, "creation");
  void takeNext();
  void takeNext();
  const third = takeNext();
  await nextTick();
  expect(acquired).toEqual(["a", "b"]);
  queue.add("changed", "urgent");
  await third;
  const fourth = takeNext();
  queue.done("a");
  await fourth;
  expect(acquired).toEqual(["a", "b", "changed", "c"]);
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "in any order of arrival the highest priority comes first, and nothing starves (seed %i)",
  async (seed) => {
    const random = new SeededRandom(seed);
    const { queue, clock } = aQueue({ keysPerSecond: 1_000_000, keysAtOnce: 1_000_000 });
    const waiting = new Map<string, { readonly priority: Priority; readonly atMs: number }>();
    const place = (key: string, priority: Priority): void => {
      queue.add(key, priority);
      waiting.set(key, { priority, atMs: clock.monotonicMs() });
    };
    for (let n = 0; n < 20; n++) place(`resynced ${n}`, "resync");
    let sinceAged = 0;
    // More keys arrive than are processed, all more urgent than the first twenty.
    for (let n = 0; n < 2_000; n++) {
      place(`first ${n}`, PRIORITIES[Math.floor(random.float() * 3)] as Priority);
      if (random.float() < 0.2) place(`second ${n}`, "urgent");
      clock.advanceBy(Math.floor(random.float() * 200));
      const acquired = await queue.take();
      const { key = "", priority = "resync", waitedMs = 0 } = acquired ?? {};
      expect(priority).toBe(waiting.get(key)?.priority);
      waiting.delete(key);
      queue.done(key);
      const rank = PRIORITIES.indexOf(priority);
      const isHighest = [...waiting.values()].every((other) => PRIORITIES.indexOf(other.priority) >= rank);
      if (!isHighest) {
        // Only because of its age, and not more often than it has a right to.
        expect(waitedMs).toBeGreaterThan(AGED_MS);
        expect(sinceAged).toBeGreaterThanOrEqual(AGED_EVERY - 1);
      }
      sinceAged = isHighest ? sinceAged + 1 : 0;
    }
    expect([...waiting.keys()].filter((key) => key.startsWith("resynced"))).toEqual([]);
  },
);
