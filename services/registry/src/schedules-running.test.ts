/** Schedules over time: overlap, down time, and failures. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type ScheduleId, silentLogger, systemRandom } from "@perdure/base";
import { createMemoryMetadataStore, emptyMemoryMetadata, type MemoryMetadata, type MetadataStore } from "@perdure/metadata";
import { createScheduleEngine, type ScheduleEngine, type ScheduleSpec } from "@perdure/schedules";
import { aRegistry, aSpec, FakePartitions } from "@perdure/schedules/testing";
import { VirtualClock } from "@perdure/testkit";
import { createScheduleBook, type ManagedScheduleBook } from "./index.js";

const START = Date.parse("2026-11-21T12:00:00Z");
const MINUTE = 60_000;
const registry = aRegistry({
  Greeter: ["service", "greet"],
  Counter: ["virtualObject", "add"],
  Report: ["workflow", "run", "status"],
});

let clock: VirtualClock;
let partitions: FakePartitions;
let memory: MemoryMetadata;
let store: MetadataStore;
let manager: ManagedScheduleBook;
let engine: ScheduleEngine;
/** Metadata writes fail while it returns true. */
let isStoreBroken: () => boolean;

beforeEach(async () => {
  clock = new VirtualClock(START);
  partitions = new FakePartitions();
  memory = emptyMemoryMetadata();
  isStoreBroken = () => false;
  await boot();
});
afterEach(async () => {
  await engine[Symbol.asyncDispose]();
});

async function boot(): Promise<void> {
  const inner = createMemoryMetadataStore(memory);
  store = {
    get: (key) => inner.get(key),
    list: (prefix) => inner.list(prefix),
    write: (writes) => (isStoreBroken() ? Promise.reject(new Error("disk error by the test")) : inner.write(writes)),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
  const ports = { metadata: store, registry, clock, random: systemRandom, logger: silentLogger };
  manager = await createScheduleBook(ports, { scopesEnabled: true });
  engine = createScheduleEngine({ ...ports, book: manager, partitions });
}

/** The process stops for this long, and starts again on the same data. */
async function downFor(ms: number): Promise<void> {
  await engine[Symbol.asyncDispose]();
  partitions.dropWaiters();
  clock.advanceBy(ms);
  await boot();
  await flush();
}

/** Until nothing moves without time moving. */
async function flush(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Time passes in steps, and what it sets off is carried out. */
async function pass(ms: number, stepMs = 30_000): Promise<void> {
  const end = clock.nowMs() + ms;
  while (clock.nowMs() < end) {
    clock.advanceTo(Math.min(end, clock.nowMs() + stepMs));
    await flush();
  }
}

async function make(parts: Partial<ScheduleSpec> = {}): Promise<ScheduleId> {
  const { record } = await manager.create(aSpec(parts), false);
  await flush();
  return record.id;
}

const stateOf = (id: ScheduleId) => manager.get(id)!.state;

describe("overlap", () => {
  test("skip: times pass while a run is in progress", async () => {
    const id = await make({ overlap: { kind: "skip" } });
    await pass(3 * MINUTE);
    partitions.end(partitions.running[0]!);
    await pass(MINUTE);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T12:04:00Z"]);
    expect(stateOf(id)).toMatchObject({ firedCount: 2, skippedCount: 2 });
  });

  test("queue: times wait for the end, in order, as many as may", async () => {
    const id = await make({ overlap: { kind: "queue", max: 2 } });
    await pass(4 * MINUTE);
    expect(stateOf(id)).toMatchObject({ queue: [START + 2 * MINUTE, START + 3 * MINUTE], skippedCount: 1 });
    await downFor(1000);
    for (let i = 0; i < 3; i++) {
      partitions.end(partitions.running[0]!);
      await flush();
    }
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T12:02:00Z", "2026-11-21T12:03:00Z"]);
    expect(stateOf(id)).toMatchObject({ queue: [], active: undefined, firedCount: 3 });
  });

  test("cancelPrevious: the run is cancelled, and the newest time follows", async () => {
    const id = await make({ overlap: { kind: "cancelPrevious" } });
    await pass(3 * MINUTE);
    const [first] = partitions.running;
    expect(partitions.cancelled).toEqual([first, first]);
    expect(partitions.times.length).toBe(1);
    partitions.end(first!);
    await flush();
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T12:03:00Z"]);
    expect(stateOf(id)).toMatchObject({ skippedCount: 1, queue: [] });
  });

  test("allow: runs do not wait for each other", async () => {
    await make({ overlap: { kind: "allow" } });
    await pass(3 * MINUTE);
    expect(partitions.running.length).toBe(3);
  });

  test("a run that is unknown after a restart has ended", async () => {
    const id = await make({ overlap: { kind: "skip" } });
    await pass(MINUTE);
    partitions.runs.clear();
    await downFor(1000);
    expect(stateOf(id).active).toBeUndefined();
  });
});

describe("down time", () => {
  test.each<[ScheduleSpec["catchUp"], string[], number]>([
    [{ kind: "none" }, ["13:01"], 60],
    [{ kind: "last" }, ["13:00", "13:01"], 59],
    [{ kind: "all", max: 3, windowMs: 86_400_000 }, ["12:58", "12:59", "13:00", "13:01"], 57],
    [{ kind: "all", max: 100, windowMs: 3 * MINUTE }, ["12:58", "12:59", "13:00", "13:01"], 57],
  ])("catch-up %j", async (catchUp, times, missedCount) => {
    const id = await make({ overlap: { kind: "allow" }, catchUp });
    await downFor(60.5 * MINUTE);
    await pass(MINUTE);
    expect(partitions.times.map((time) => time.slice(11, 16))).toEqual(times);
    expect(stateOf(id).missedCount).toBe(missedCount);
  });

  test("a time just missed by a restart still fires, whatever the policy", async () => {
    await make({ catchUp: { kind: "none" } });
    await downFor(MINUTE + 5000);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z"]);
  });
});

describe("failures", () => {
  test("an unreachable partition is retried until it responds", async () => {
    const id = await make({ overlap: { kind: "allow" } });
    partitions.fault = () => "refuse";
    await pass(MINUTE + 3000, 100);
    expect(partitions.times).toEqual([]);
    expect(stateOf(id).firedCount).toBe(0);
    partitions.fault = () => "none";
    await pass(10_000, 100);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z"]);
  });

  test.each(["lose", "hang"] as const)("a lost response (%s) leads to exactly one invocation", async (fault) => {
    const id = await make({ overlap: { kind: "queue", max: 1 } });
    let left = 2;
    partitions.fault = () => (left-- > 0 ? fault : "none");
    await pass(2 * MINUTE - 1000, 100);
    expect(partitions.submissionCount).toBe(3);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z"]);
    expect(stateOf(id).firedCount).toBe(1);
  });

  test("when it cannot be written what happened, it is done again, and is the same", async () => {
    const id = await make({ overlap: { kind: "allow" } });
    isStoreBroken = () => true;
    await pass(MINUTE + 1000, 100);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z"]);
    expect(stateOf(id).firedCount).toBe(0);
    await downFor(500); // And the process crashes.
    isStoreBroken = () => false;
    await pass(MINUTE, 100);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T12:02:00Z"]);
    expect(stateOf(id).firedCount).toBe(2);
    expect(partitions.submissionCount).toBeGreaterThan(2);
  });

  test("a firing that was submitted and not recorded before a crash counts as fired, also when it is found late", async () => {
    const id = await make({ overlap: { kind: "allow" }, catchUp: { kind: "none" } });
    isStoreBroken = () => true;
    await pass(MINUTE + 1000, 100);
    isStoreBroken = () => false;
    await downFor(10.5 * MINUTE);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z"]);
    expect(stateOf(id)).toMatchObject({ firedCount: 1, missedCount: 10 });
  });

  test("a missing handler is a failed firing, and the next is tried", async () => {
    const id = await make({ overlap: { kind: "allow" } });
    const without = aRegistry({});
    await engine[Symbol.asyncDispose]();
    engine = createScheduleEngine({ book: manager, partitions, registry: without, clock, logger: silentLogger });
    await pass(2 * MINUTE);
    expect(stateOf(id)).toMatchObject({ failedCount: 2, firedCount: 0 });
    expect(stateOf(id).recent[0]).toMatchObject({ outcome: "failed", detail: "'Greeter/greet' is not registered" });
  });

  test("two engines on the same schedules fire each time once", async () => {
    await make({ overlap: { kind: "allow" } });
    const ports = { metadata: store, registry, clock, random: systemRandom, logger: silentLogger };
    const book = await createScheduleBook(ports, { scopesEnabled: true });
    await using _second = createScheduleEngine({ ...ports, book, partitions });
    await pass(5 * MINUTE);
    expect(partitions.times).toEqual([1, 2, 3, 4, 5].map((minute) => `2026-11-21T12:0${minute}:00Z`));
    expect(partitions.submissionCount).toBe(10);
  });
});
