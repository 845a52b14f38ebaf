import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type ScheduleId, silentLogger, systemRandom } from "@perdure/base";
import type { HandlerView } from "@perdure/control";
import { createMemoryMetadataStore, emptyMemoryMetadata, type MemoryMetadata, type MetadataStore } from "@perdure/metadata";
import {
  type BackfilledTime,
  createScheduleEngine,
  type ScheduleEngine,
  type ScheduleSpec,
  statusOf,
  upcoming,
} from "@perdure/schedules";
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
const target = (service: string, handler: string, key?: string): ScheduleSpec["target"] => ({
  ...aSpec().target,
  service,
  handler,
  key,
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

describe("from making to ending", () => {
  test("it fires on time, passes the time to the handler, and records the firing", async () => {
    const id = await make({ headers: { "x-team": "blue" }, payload: { contentType: "text/plain", base64: btoa("hello") } });
    await pass(MINUTE - 1);
    expect(partitions.times).toEqual([]);
    await pass(1);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z"]);
    const [run] = partitions.runs.values();
    const { command } = run!;
    const invocationId = command.id;
    expect(command.facts).toMatchObject({ idempotencyKey: `${id}/2026-11-21T12:01:00Z`, source: { kind: "ingress" } });
    const input = Buffer.from(command.input).toString("latin1");
    for (const part of ["content-type", "text/plain", "x-team", "blue", "x-perdure-schedule-id", id, "a-schedule", "hello"]) {
      expect(input).toContain(part);
    }
    expect(stateOf(id)).toMatchObject({
      firedCount: 1,
      active: { invocationId },
      lastFired: { nominalMs: START + MINUTE, atMs: START + MINUTE, cause: "due" },
    });
  });

  test("a schedule is there after a restart, and continues", async () => {
    const id = await make({ overlap: { kind: "allow" } });
    await pass(3 * MINUTE);
    await downFor(0);
    expect(manager.get(id)).toMatchObject({ record: { name: "a-schedule", version: 1 }, state: { firedCount: 3 } });
    await pass(2 * MINUTE);
    expect(partitions.times).toEqual([1, 2, 3, 4, 5].map((minute) => `2026-11-21T12:0${minute}:00Z`));
    expect(partitions.submissionCount).toBe(5);
  });

  test("pausing stops it, resuming skips the times of the pause", async () => {
    const id = await make({ overlap: { kind: "allow" }, catchUp: { kind: "all", max: 100, windowMs: 86_400_000 } });
    await pass(MINUTE);
    await manager.pause(id);
    expect(statusOf(manager.get(id)!)).toBe("paused");
    await pass(60 * MINUTE);
    await manager.resume(id);
    await manager.resume(id);
    await pass(2 * MINUTE);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T13:02:00Z", "2026-11-21T13:03:00Z"]);
    expect(stateOf(id).missedCount).toBe(0);
  });

  test("it ends after its last firing, or when it is removed", async () => {
    const counted = await make({ name: "counted", firingsMax: 2, overlap: { kind: "allow" } });
    const removed = await make({ name: "removed", overlap: { kind: "allow" } });
    await pass(MINUTE);
    await manager.remove(removed, undefined);
    await pass(10 * MINUTE);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T12:01:00Z", "2026-11-21T12:02:00Z"]);
    expect(statusOf(manager.get(counted)!)).toBe("ended");
    expect(manager.get(removed)).toBeUndefined();
    expect((await store.list("schedules/")).map(({ key }) => key.split("/")[1])).toEqual(["name", "record", "state"]);
  });

  test("a change of its times holds at once, and keeps what it did", async () => {
    const id = await make({ cron: "0 0 * * *", overlap: { kind: "allow" } });
    const spec = aSpec({ cron: "every 10m", overlap: { kind: "allow" } });
    expect((await manager.replace(id, spec, 1)).record.version).toBe(2);
    await pass(20 * MINUTE);
    expect(partitions.times).toEqual(["2026-11-21T12:10:00Z", "2026-11-21T12:20:00Z"]);
    await manager.replace(id, { ...spec, name: "renamed" }, 2);
    expect(stateOf(id).firedCount).toBe(2);
    await expect(manager.replace(id, spec, 2)).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining("version 3"),
    });
    await expect(manager.remove(id, 2)).rejects.toMatchObject({ status: 409 });
    const other = await make({ name: "a-schedule" });
    await expect(manager.replace(other, aSpec({ name: "renamed" }), undefined)).rejects.toMatchObject({ status: 409 });
  });

  test("an extended schedule does not make up for what it was not allowed", async () => {
    const spec = aSpec({ firingsMax: 1, overlap: { kind: "allow" }, catchUp: { kind: "all", max: 100, windowMs: 86_400_000 } });
    const id = await make(spec);
    await pass(30 * MINUTE);
    await manager.replace(id, { ...spec, firingsMax: 3 }, undefined);
    await pass(10 * MINUTE);
    expect(partitions.times).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T12:31:00Z", "2026-11-21T12:32:00Z"]);
  });
});

describe("keys and kinds", () => {
  test("a workflow has the time as its key, each run another", async () => {
    await make({ target: target("Report", "run"), overlap: { kind: "allow" } });
    await pass(2 * MINUTE);
    const facts = [...partitions.runs.values()].map(({ command }) => command.facts);
    expect(facts.map((one) => one.target.key)).toEqual(["2026-11-21T12:01:00Z", "2026-11-21T12:02:00Z"]);
    expect(facts.every((one) => one.idempotencyKey === undefined)).toBe(true);
  });

  test("a key template is filled in, dates being those of the zone", async () => {
    await make({
      zone: "Asia/Tokyo",
      target: target("Counter", "add", "{name}/{date}/{unix}/{{x}}"),
      startAtMs: START + 180 * MINUTE,
    });
    await pass(181 * MINUTE);
    const [run] = partitions.runs.values();
    expect(run?.command.facts.target).toMatchObject({
      key: `a-schedule/2026-11-22/${(START + 180 * MINUTE) / 1000}/{x}`,
      handlerType: "exclusive",
    });
  });

  test("a scope, a limit key and a priority are passed on", async () => {
    await make({ target: { ...target("Greeter", "greet"), scope: "tenant", limitKey: "a/b", priority: 1 } });
    await pass(MINUTE);
    const [run] = partitions.runs.values();
    expect(run?.command.facts).toMatchObject({ target: { scope: "tenant" }, limitKey: "a/b", priority: 1 });
  });

  test("results are kept for an hour at least, for they make a second submit harmless", async () => {
    await make({ overlap: { kind: "allow" } });
    await engine[Symbol.asyncDispose]();
    const forgetful = aRegistry({ Greeter: ["service", "greet"] });
    const handlers = forgetful.current().services.get("Greeter")!.handlers as Map<string, HandlerView>;
    handlers.set("greet", { ...handlers.get("greet")!, idempotencyRetentionMs: 0 });
    engine = createScheduleEngine({ book: manager, partitions, registry: forgetful, clock, logger: silentLogger });
    await pass(MINUTE);
    const [run] = partitions.runs.values();
    expect(run?.command.facts.completionRetentionMs).toBe(3_600_000);
  });

  test("a workflow key that is already in use is a failed firing", async () => {
    const id = await make({ target: target("Report", "run", "once"), overlap: { kind: "allow" } });
    const other = await make({ name: "other", target: target("Report", "run", "once"), overlap: { kind: "allow" } });
    await pass(MINUTE);
    const outcomes = [id, other].map((one) => stateOf(one).recent[0]?.outcome).sort();
    expect([outcomes, partitions.runs.size]).toEqual([["failed", "fired"], 1]);
  });
});

describe("by hand", () => {
  test("fires also when paused, beside the timetable, once for each key", async () => {
    const id = await make();
    await manager.pause(id);
    const first = await engine.runNow(id, "k1");
    const again = await engine.runNow(id, "k1");
    const second = await engine.runNow(id, "k2");
    expect([first.isNew, again, second.isNew]).toEqual([true, { ...first, isNew: false }, true]);
    expect(partitions.runs.size).toBe(2);
    expect(stateOf(id)).toMatchObject({ manualCount: 2, firedCount: 0, decidedThroughMs: START, active: undefined });
  });
  test("reports the reason", async () => {
    const id = await make();
    partitions.fault = () => "refuse";
    await expect(engine.runNow(id, "k")).rejects.toMatchObject({ code: "ING0006" });
    await manager.remove(id, undefined);
    await expect(engine.runNow(id, "k")).rejects.toMatchObject({ status: 404 });
  });
});

describe("a backfill", () => {
  const past = [START - 3 * MINUTE, START - 2 * MINUTE, START - MINUTE];
  const range = { timesMs: past, expectedVersion: 1, isDryRun: false };
  const outcomes = (times: readonly BackfilledTime[]) => times.map(({ outcome }) => outcome);

  test("calls each time as the schedule would have called it, also while paused, and no time again", async () => {
    const id = await make({ headers: { "x-team": "blue" } });
    await manager.pause(id);
    expect(outcomes(await engine.backfill(id, { ...range, isDryRun: true }))).toEqual(["new", "new", "new"]);
    expect(partitions.runs.size).toBe(0);
    const times = await engine.backfill(id, range);
    expect(outcomes(times)).toEqual(["new", "new", "new"]);
    expect(times.map(({ invocationId }) => invocationId)).toEqual([...partitions.runs.keys()]);
    expect(partitions.times).toEqual(["2026-11-21T11:57:00Z", "2026-11-21T11:58:00Z", "2026-11-21T11:59:00Z"]);
    const [run] = partitions.runs.values();
    expect(run?.command.facts.idempotencyKey).toBe(`${id}/2026-11-21T11:57:00Z`);
    expect(Buffer.from(run!.command.input).toString("latin1")).toContain("blue");
    expect(outcomes(await engine.backfill(id, range))).toEqual(["alreadyRan", "alreadyRan", "alreadyRan"]);
    expect([partitions.runs.size, partitions.submissionCount]).toEqual([3, 3]);
    expect(stateOf(id)).toMatchObject({ manualCount: 3, firedCount: 0, decidedThroughMs: START, active: undefined, queue: [] });
    expect(stateOf(id).recent.map(({ nominalMs }) => nominalMs)).toEqual([...past].reverse());
  });

  test("leaves out what the schedule itself has called, and the schedule calls nothing that a backfill has called", async () => {
    const id = await make({ overlap: { kind: "allow" }, jitterMs: 50_000 });
    clock.advanceTo(START + MINUTE); // The jitter of this time is not over.
    await flush();
    expect(partitions.runs.size).toBe(0);
    expect(outcomes(await engine.backfill(id, { ...range, timesMs: [START + MINUTE] }))).toEqual(["new"]);
    await pass(2 * MINUTE);
    const runCount = partitions.times.length;
    expect(new Set(partitions.times).size).toBe(runCount);
    const all = [START, START + MINUTE, START + 2 * MINUTE];
    expect(outcomes(await engine.backfill(id, { ...range, timesMs: all }))).toEqual(["new", "alreadyRan", "alreadyRan"]);
    expect(partitions.runs.size).toBe(runCount + 1);
  });

  test("that is interrupted has recorded what it called, and continues when it is repeated", async () => {
    const id = await make();
    let calls = 0;
    partitions.fault = () => (++calls === 2 ? "refuse" : calls === 3 ? "lose" : "none");
    await expect(engine.backfill(id, range)).rejects.toMatchObject({ code: "ING0006" });
    expect([partitions.runs.size, stateOf(id).manualCount]).toEqual([2, 1]);
    partitions.fault = () => "none";
    expect(outcomes(await engine.backfill(id, range))).toEqual(["alreadyRan", "new", "alreadyRan"]);
    expect(partitions.runs.size).toBe(3);
  });

  test("of a workflow starts one for each time, and fails where the key was used", async () => {
    const each = await make({ target: target("Report", "run") });
    expect(outcomes(await engine.backfill(each, range))).toEqual(["new", "new", "new"]);
    expect(outcomes(await engine.backfill(each, range))).toEqual(["alreadyRan", "alreadyRan", "alreadyRan"]);
    const one = await make({ name: "one", target: target("Report", "run", "once") });
    expect(outcomes(await engine.backfill(one, range))).toEqual(["new", "failed", "failed"]);
    expect(outcomes(await engine.backfill(one, range))).toEqual(["alreadyRan", "failed", "failed"]);
  });

  test("is refused when the schedule was changed or removed, or its handler is gone", async () => {
    const id = await make();
    await expect(engine.backfill(id, { ...range, expectedVersion: 2 })).rejects.toMatchObject({ status: 409 });
    await engine[Symbol.asyncDispose]();
    engine = createScheduleEngine({ book: manager, partitions, registry: aRegistry({}), clock, logger: silentLogger });
    await expect(engine.backfill(id, range)).rejects.toMatchObject({ status: 400, code: "META0100" });
    await manager.remove(id, undefined);
    await expect(engine.backfill(id, range)).rejects.toMatchObject({ status: 404 });
    expect(partitions.runs.size).toBe(0);
  });
});

describe("what cannot work is refused", () => {
  test.each<[Partial<ScheduleSpec>, string]>([
    [{ cron: "* * *" }, "invalid 'cron': it has 3 fields"],
    [{ cron: "0 0 30 2 *" }, "invalid 'cron': no date ever matches"],
    [{ zone: "Mars/Olympus" }, "invalid 'zone': 'Mars/Olympus' is not an IANA time zone"],
    [{ target: target("Nobody", "x") }, "invalid 'target.service': 'Nobody' is not registered"],
    [{ target: target("Greeter", "x") }, "invalid 'target.handler'"],
    [{ target: target("Greeter", "greet", "k") }, "invalid 'target.key': 'Greeter' is a service"],
    [{ target: target("Counter", "add") }, "invalid 'target.key': 'Counter/add' needs one"],
    [{ target: target("Report", "status") }, "invalid 'target.key'"],
    [{ target: target("Counter", "add", "{what}") }, "'{what}' is not one of {time}, {date}"],
    [{ target: target("Counter", "add", "a}b") }, "a single '}' is written '}}'"],
    [{ target: { ...target("Counter", "add", "k"), scope: "s" } }, "virtual objects have none"],
    [{ target: { ...target("Greeter", "greet"), scope: "a b" } }, "invalid 'target.scope': value contains"],
    [{ target: { ...target("Greeter", "greet"), limitKey: "l" } }, "invalid 'target.limit_key': it needs a scope"],
    [{ endAtMs: START - 1 }, "invalid 'end_at': no time is left before it"],
    [{ startAtMs: START + 10, endAtMs: START + 5 }, "invalid 'end_at': it is before start_at"],
  ])("%j", async (parts, message) => {
    await expect(manager.create(aSpec(parts), false)).rejects.toMatchObject({
      status: 400,
      code: "META0100",
      message: expect.stringContaining(message),
    });
    expect(manager.list()).toEqual([]);
  });

  test("a name in use", async () => {
    await make();
    await expect(manager.create(aSpec(), false)).rejects.toMatchObject({ status: 409, code: undefined });
  });

  test("a document that is damaged ends the start", async () => {
    const id = await make();
    await store.write([{ kind: "put", key: `schedules/record/${id}`, value: { id, name: 7 }, expectedVersion: undefined }]);
    await expect(boot()).rejects.toMatchObject({ code: "META0005" });
  });
});

test("a thousand schedules fire at the same minute, each once, and their states are written together", async () => {
  let writeCount = 0;
  const specs = Array.from({ length: 1000 }, (_, i) => aSpec({ name: `s${i}`, overlap: { kind: "allow" } }));
  await Promise.all(specs.map((spec) => manager.create(spec, false)));
  await flush();
  isStoreBroken = () => {
    writeCount++;
    return false;
  };
  await pass(MINUTE);
  for (let i = 0; i < 50; i++) await flush();
  expect(partitions.runs.size).toBe(1000);
  expect(manager.list().every(({ state }) => state.firedCount === 1)).toBe(true);
  expect(writeCount).toBeLessThan(100);
  expect(upcoming(manager.list()[0]!, clock.nowMs(), 1)).toEqual([START + 2 * MINUTE]);
});

test("two books on one store: each changes what the other made a moment ago, and no name is used twice", async () => {
  const other = await createScheduleBook(
    { metadata: store, registry, clock, random: systemRandom, logger: silentLogger },
    { scopesEnabled: true },
  );
  const { record } = await other.create(aSpec({ name: "one" }), false);
  expect((await manager.pause(record.id)).state.isPaused).toBe(true);
  expect((await other.resume(record.id)).state.isPaused).toBe(false);
  const both = [manager, other].map((each) => each.create(aSpec({ name: "two" }), false));
  const outcomes = await Promise.allSettled(both);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { status: 409 } });
  await manager.remove(record.id, undefined);
  await expect(other.pause(record.id)).rejects.toMatchObject({ status: 404 });
});
