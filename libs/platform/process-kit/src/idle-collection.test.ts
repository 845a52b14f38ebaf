import { GCProfiler } from "node:v8";
import { expect, test } from "@jest/globals";
import FakeTimers from "@sinonjs/fake-timers";
import { IdleChecks } from "./idle-checks.js";
import { HeapGrowth, largeGarbage } from "./idle-collection.js";
import { LARGE_GROWTH_MS } from "./limits.js";

const MIB = 1024 * 1024;

/** A process whose old generation is `bytes` large, `alive` of it in use; returns how often it was collected. */
function processOf(facts: { bytes: number; alive: number; busy: number }) {
  let collections = 0;
  const collection = new IdleChecks({
    busy: () => facts.busy,
    oldBytes: () => facts.bytes,
    collect: () => {
      collections++;
      facts.bytes = facts.alive;
    },
  });
  return {
    collectionsAfter: (checks: number): number => {
      for (let n = 0; n < checks; n++) collection.check();
      return collections;
    },
  };
}

test("a process that was busy and has nothing to do any more collects once", () => {
  const facts = { bytes: 20 * MIB, alive: 20 * MIB, busy: 0 };
  const { collectionsAfter } = processOf(facts);
  expect(collectionsAfter(10)).toBe(0); // Nothing has come since it began.
  facts.bytes = 60 * MIB;
  facts.busy = 0.5;
  expect(collectionsAfter(10)).toBe(0);
  facts.busy = 0.01;
  expect(collectionsAfter(1)).toBe(0);
  expect(collectionsAfter(1)).toBe(1);
  expect(collectionsAfter(100)).toBe(1);
});

test("live objects are not a reason to collect again, and V8's own collections are noticed", () => {
  const facts = { bytes: 20 * MIB, alive: 50 * MIB, busy: 0 };
  const { collectionsAfter } = processOf(facts);
  facts.bytes = 60 * MIB;
  expect(collectionsAfter(20)).toBe(1);
  facts.bytes = 30 * MIB;
  expect(collectionsAfter(20)).toBe(1);
  facts.bytes = 60 * MIB;
  expect(collectionsAfter(20)).toBe(2);
});

test("a large process waits until traversing its live objects is worth it", () => {
  const facts = { bytes: 400 * MIB, alive: 400 * MIB, busy: 0 };
  const { collectionsAfter } = processOf(facts);
  facts.bytes = 450 * MIB;
  expect(collectionsAfter(20)).toBe(0);
  facts.bytes = 501 * MIB;
  expect(collectionsAfter(20)).toBe(1);
});

test("a short pause between two calls is none", () => {
  const facts = { bytes: 20 * MIB, alive: 20 * MIB, busy: 0 };
  const { collectionsAfter } = processOf(facts);
  facts.bytes = 80 * MIB;
  for (let n = 0; n < 20; n++) {
    facts.busy = n % 2;
    expect(collectionsAfter(1)).toBe(0);
  }
});

test("garbage of large messages is collected when it is much, once and a little later", async () => {
  let collections = 0;
  const dealtWith = largeGarbage(() => collections++);
  const soon = () => new Promise((resolve) => setImmediate(resolve));
  for (let n = 0; n < 7; n++) dealtWith(MIB);
  await soon();
  expect(collections).toBe(0);
  for (let n = 0; n < 100; n++) dealtWith(MIB);
  expect(collections).toBe(0);
  await soon();
  expect(collections).toBe(1);
  dealtWith(MIB);
  await soon();
  expect(collections).toBe(1);
});

test("the old generation may grow by more while large buffers come, and as before some seconds later", () => {
  const timers = FakeTimers.install();
  try {
    const percents: number[] = [];
    const growth = new HeapGrowth(
      60,
      (percent) => percents.push(percent),
      () => 24 * MIB,
    );
    growth.largeBuffers();
    growth.largeBuffers();
    expect(percents).toEqual([400]);
    timers.tick(LARGE_GROWTH_MS - 1);
    growth.largeBuffers();
    timers.tick(LARGE_GROWTH_MS - 1);
    expect(percents).toEqual([400]);
    timers.tick(1);
    expect(percents).toEqual([400, 60]);
    new HeapGrowth(
      60,
      (percent) => percents.push(percent),
      () => 400 * MIB,
    ).largeBuffers(); // Grows by enough already.
    expect(percents).toEqual([400, 60]);
  } finally {
    timers.uninstall();
  }
});

test("the young generation of this process can be collected", async () => {
  const profiler = new GCProfiler();
  profiler.start();
  largeGarbage()(100 * MIB);
  await new Promise((resolve) => setImmediate(resolve));
  const types = profiler.stop()?.statistics.map(({ gcType }) => gcType) ?? [];
  // V8 collects everything instead when the old generation is due as well.
  expect(types.filter((type) => type === "Scavenge" || type === "MarkSweepCompact")).not.toEqual([]);
});
