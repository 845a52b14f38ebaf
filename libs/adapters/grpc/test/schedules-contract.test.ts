/** Schedules in another process: messages keep every value, refusals keep their status and code, and v0.1 is understood. */

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "@jest/globals";
import { newInvocationId, newOperationId, newScheduleId, type Random, silentLogger } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import {
  type BackfilledTime,
  type CatchUpPolicy,
  freshState,
  type OverlapPolicy,
  type PastFiring,
  type Schedule,
  type ScheduleRecord,
  type ScheduleState,
  type Schedules,
  timetableOfSpec,
} from "@perdure/schedules";
import { SeededRandom } from "@perdure/testkit";
import fc from "fast-check";
import type { Channel } from "../src/channel.js";
import { fromSchedule, toSchedule } from "../src/codec/schedules.js";
import { ScheduleSchema } from "../src/gen/v1/schedules_pb.js";
import { schedulesDefinition, schedulesHandlers } from "../src/index.js";
import { remoteSchedules } from "../src/remote-schedules.js";
import { TestServer } from "../src/testing/index.js";
import { callSchedulesV01, listSchedulesV01 } from "../src/v01/schedules.js";

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

const random: Random = new SeededRandom(16);
const text = fc.string();
const maybeText = fc.option(text, { nil: undefined });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const maybeCount = fc.option(count, { nil: undefined });
const scheduleId = fc.constant(0).map(() => newScheduleId(1, random));
const invocationId = fc.constant(0).map(() => newInvocationId({ service: "S", key: undefined, handler: "h" }, 1, random));

const overlap: fc.Arbitrary<OverlapPolicy> = fc.oneof(
  fc.constantFrom<OverlapPolicy>({ kind: "skip" }, { kind: "cancelPrevious" }, { kind: "allow" }),
  fc.record({ kind: fc.constant("queue" as const), max: count }),
);
const catchUp: fc.Arbitrary<CatchUpPolicy> = fc.oneof(
  fc.constantFrom<CatchUpPolicy>({ kind: "none" }, { kind: "last" }),
  fc.record({ kind: fc.constant("all" as const), max: count, windowMs: count }),
);
const record: fc.Arbitrary<ScheduleRecord> = fc.record({
  id: scheduleId,
  version: count,
  createdAtMs: count,
  modifiedAtMs: count,
  name: text,
  description: maybeText,
  cron: fc.constantFrom("* * * * *", "@daily", "0 9 * * 1"),
  zone: fc.constantFrom("UTC", "Europe/Berlin"),
  jitterMs: count,
  startAtMs: maybeCount,
  endAtMs: maybeCount,
  firingsMax: maybeCount,
  target: fc.record({
    service: text,
    handler: text,
    key: maybeText,
    scope: maybeText,
    limitKey: maybeText,
    priority: fc.option(fc.nat(), { nil: undefined }),
  }),
  payload: fc.record({ contentType: maybeText, base64: text }),
  headers: fc.dictionary(fc.stringMatching(/^[a-z-]{1,9}$/), text, { noNullPrototype: true }),
  overlap,
  catchUp,
});
const firing: fc.Arbitrary<PastFiring> = fc.record({
  outcome: fc.constantFrom("fired", "failed", "skipped", "missed"),
  cause: fc.constantFrom(undefined, "due", "queued", "caughtUp", "manual"),
  nominalMs: count,
  atMs: count,
  invocationId: fc.option(invocationId, { nil: undefined }),
  detail: maybeText,
  count,
});
const state: fc.Arbitrary<ScheduleState> = fc.record({
  isPaused: fc.boolean(),
  decidedThroughMs: count,
  active: fc.option(fc.record({ invocationId, nominalMs: count }), { nil: undefined }),
  queue: fc.array(count),
  firedCount: count,
  manualCount: count,
  skippedCount: count,
  failedCount: count,
  missedCount: count,
  lastFired: fc.option(firing, { nil: undefined }),
  recent: fc.array(firing),
});

function scheduleOf(of: ScheduleRecord, at: ScheduleState): Schedule {
  const times = timetableOfSpec(of);
  if (!times.ok) throw new Error(times.reason);
  return { record: of, state: at, times: times.value };
}

const withoutTimes = ({ record: of, state: at }: Schedule) => ({ record: of, state: at });
const example = (): Schedule => scheduleOf(fc.sample(record, { numRuns: 1, seed: 16 })[0] as ScheduleRecord, freshState(5));

describe("messages keep", () => {
  test("schedules", () => {
    fc.assert(
      fc.property(record, state, (of, at) => {
        const bytes = toBinary(ScheduleSchema, toSchedule(scheduleOf(of, at)));
        expect(withoutTimes(fromSchedule(fromBinary(ScheduleSchema, bytes)))).toEqual({ record: of, state: at });
      }),
    );
  });

  test("nothing that no type has", () => {
    const message = toSchedule(example());
    const { state: _state, ...withoutState } = message;
    const { overlap: _overlap, ...withoutOverlap } = message.spec as NonNullable<typeof message.spec>;
    for (const broken of [undefined, withoutState, { ...message, id: "x" }, { ...message, spec: withoutOverlap }]) {
      expect(() => fromSchedule(broken as typeof message)).toThrow("[OPS0003]");
    }
    const badCron = { ...message, spec: { ...message.spec, cron: "never" } };
    expect(() => fromSchedule(badCron as typeof message)).toThrow("[OPS0003] the cron of the schedule");
  });
});

/** Answers every call with the same schedule, and records the calls. */
class Recorder implements Schedules {
  readonly calls: unknown[][] = [];
  refusal: Error | undefined;
  readonly schedule: Schedule = example();

  #answer<T>(value: T, ...call: unknown[]): Promise<T> {
    this.calls.push(call);
    return this.refusal === undefined ? Promise.resolve(value) : Promise.reject(this.refusal);
  }

  get = (id: string) => this.#answer(id === this.schedule.record.id ? this.schedule : undefined, "get", id);
  list = () => this.#answer(Array<Schedule>(300).fill(this.schedule), "list");
  create = (spec: unknown, isPaused: boolean) => this.#answer(this.schedule, "create", spec, isPaused);
  replace = (id: string, spec: unknown, version?: number) => this.#answer(this.schedule, "replace", id, spec, version);
  remove = (id: string, version?: number) => this.#answer<void>(undefined, "remove", id, version);
  restore = (operation: string) => this.#answer("restored" as const, "restore", operation);
  pause = (id: string) => this.#answer(this.schedule, "pause", id);
  resume = (id: string) => this.#answer(this.schedule, "resume", id);
  runNow = (id: string, key: string) => this.#answer({ invocationId: runId, isNew: false }, "runNow", id, key);
  backfill = (id: string, batch: unknown) => this.#answer(backfilled, "backfill", id, batch);
}

const runId = newInvocationId({ service: "S", key: undefined, handler: "h" }, 1, random);

const backfilled: readonly BackfilledTime[] = [
  { nominalMs: -60_000, outcome: "new", invocationId: runId, detail: undefined },
  { nominalMs: 0, outcome: "alreadyRan", invocationId: runId, detail: undefined },
  { nominalMs: 60_000, outcome: "failed", invocationId: runId, detail: "used before" },
];

async function serve(schedules: Schedules, definition: ServiceDefinition = schedulesDefinition): Promise<Channel> {
  const server = await TestServer.start(definition, schedulesHandlers(schedules, silentLogger));
  opened.push(() => server.stop());
  return server.connect();
}

const { ask, list } = schedulesDefinition;

describe.each([
  ["this release", schedulesDefinition],
  ["v0.1", { ask, list }],
] as const)("a registry of %s", (_name, definition) => {
  test("is called with every method, and returns the answers", async () => {
    const recorder = new Recorder();
    const client = await serve(recorder, definition);
    const remote = remoteSchedules(() => client);
    const { schedule } = recorder;
    const { id, version: _version, createdAtMs: _created, modifiedAtMs: _modified, ...spec } = schedule.record;
    const whole = withoutTimes(schedule);
    expect(withoutTimes((await remote.get(id)) as Schedule)).toEqual(whole);
    expect(await remote.get(newScheduleId(2, random))).toBeUndefined();
    expect(await remote.list()).toHaveLength(300);
    expect(withoutTimes(await remote.create(spec, true))).toEqual(whole);
    expect(withoutTimes(await remote.replace(id, spec, 7))).toEqual(whole);
    expect(withoutTimes(await remote.replace(id, spec, undefined))).toEqual(whole);
    await remote.remove(id, undefined);
    expect(withoutTimes(await remote.pause(id))).toEqual(whole);
    expect(withoutTimes(await remote.resume(id))).toEqual(whole);
    expect(await remote.runNow(id, "k")).toEqual({ invocationId: runId, isNew: false });
    expect(recorder.calls.filter(([method]) => method !== "list").slice(2)).toEqual([
      ["create", spec, true],
      ["replace", id, spec, 7],
      ["replace", id, spec, undefined],
      ["remove", id, undefined],
      ["pause", id],
      ["resume", id],
      ["runNow", id, "k"],
    ]);
  });

  test("refuses with the status and the code of the management API", async () => {
    const recorder = new Recorder();
    const client = await serve(recorder, definition);
    const remote = remoteSchedules(() => client);
    const { id } = recorder.schedule.record;
    recorder.refusal = new RegistryRefusal(409, undefined, "another version");
    await expect(remote.pause(id)).rejects.toMatchObject({ name: "RegistryRefusal", status: 409, message: "another version" });
    recorder.refusal = new RegistryRefusal(400, "META0100", "no such handler");
    await expect(remote.runNow(id, "k")).rejects.toMatchObject({
      status: 400,
      code: "META0100",
      message: "[META0100] no such handler",
    });
  });
});

test("a management API of v0.1 is answered in its own form", async () => {
  const recorder = new Recorder();
  const client = await serve(recorder);
  const options = { deadlineMs: 10_000, callee: "the registry" };
  const whole = withoutTimes(recorder.schedule);
  const got = await callSchedulesV01(client, "get", [recorder.schedule.record.id], options);
  expect(withoutTimes(got as Schedule)).toEqual(whole);
  expect(await listSchedulesV01(client, options)).toHaveLength(300);
  await expect(callSchedulesV01(client, "drop" as never, [], options)).rejects.toMatchObject({ code: "OPS0003" });
});

test("the undo of a deletion reaches the registry", async () => {
  const recorder = new Recorder();
  const client = await serve(recorder);
  const operation = newOperationId(1, random);
  expect(await remoteSchedules(() => client).restore(operation)).toBe("restored");
  expect(recorder.calls).toEqual([["restore", operation]]);
});

test("a backfill reaches the registry, and one of v0.1 has none", async () => {
  const recorder = new Recorder();
  const { id } = recorder.schedule.record;
  const batch = { timesMs: [-60_000, 0, 60_000], expectedVersion: 3, isDryRun: true };
  const client = await serve(recorder);
  expect(await remoteSchedules(() => client).backfill(id, batch)).toEqual(backfilled);
  expect(recorder.calls).toEqual([["backfill", id, batch]]);
  const old = await serve(recorder, { ask, list });
  await expect(remoteSchedules(() => old).backfill(id, batch)).rejects.toMatchObject({ name: "PerdureError" });
  expect(recorder.calls).toHaveLength(1);
});
