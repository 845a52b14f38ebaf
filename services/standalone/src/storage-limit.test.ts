import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import type { Partitions } from "@perdure/control";
import type { Invoke } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import { limitedPartitions } from "./limited-partitions.js";
import { STORAGE_CHECK_MS, STORAGE_COMPACT_EVERY_MS } from "./limits.js";
import { ingressGuard } from "./runtime-guard.js";
import { StorageLimit } from "./storage-limit.js";

const BYTES_MAX = 1_000;

/** A store of so many bytes, some of which go when it is compacted. */
async function aLimit(bytes: number) {
  const clock = new VirtualClock();
  const held: boolean[] = [];
  const store = { bytes, deleted: 0, compactions: 0, batches: 0, checks: 0 };
  const storage = {
    get batches() {
      return store.batches;
    },
    async storedBytes() {
      store.checks++;
      return store.bytes;
    },
    async compact() {
      store.compactions++;
      store.bytes -= store.deleted;
      store.deleted = 0;
    },
  };
  const limit = await StorageLimit.open(
    { storage, onHeld: (isHeld) => held.push(isHeld), clock, logger: silentLogger },
    BYTES_MAX,
  );
  const check = async (): Promise<void> => {
    store.batches++;
    clock.advanceBy(STORAGE_CHECK_MS);
    await new Promise(setImmediate); // What a check reads is returned at once.
  };
  return { limit, clock, held, store, check };
}

test("it is full beyond the limit, within one check, and has space again somewhat below it", async () => {
  const { limit, store, check, held } = await aLimit(1_000);
  expect(limit.isFull).toBe(false);
  store.bytes = 1_001;
  await check();
  expect(limit.isFull).toBe(true);
  store.bytes = 960;
  await check();
  expect(limit.isFull).toBe(true);
  store.bytes = 950;
  await check();
  expect([limit.isFull, held]).toEqual([false, []]);
  await limit[Symbol.asyncDispose]();
});

test("a tenth beyond it no attempt runs, until it is under the limit", async () => {
  const { limit, store, check, held } = await aLimit(1_101);
  expect(limit.isFull).toBe(true);
  expect(held).toEqual([true]);
  store.bytes = 1_001;
  await check();
  store.bytes = 1_000;
  await check();
  await check();
  expect(held).toEqual([true, true, false]);
  await limit[Symbol.asyncDispose]();
});

test("what was deleted is compacted away while it is full, and not all the time", async () => {
  const { limit, clock, store, check } = await aLimit(1_050);
  store.deleted = 40;
  await check();
  expect(store).toMatchObject({ compactions: 1, bytes: 1_050 }); // Nothing was deleted yet at the first check.
  clock.advanceBy(STORAGE_COMPACT_EVERY_MS);
  await new Promise(setImmediate);
  await check();
  expect(store).toMatchObject({ compactions: 2, bytes: 1_010 });
  await check();
  expect(store.compactions).toBe(2);
  await limit[Symbol.asyncDispose]();
});

test("while nothing is written nothing is measured, unless it is full", async () => {
  const { limit, clock, store, check } = await aLimit(10);
  const idle = async (): Promise<void> => {
    clock.advanceBy(10 * STORAGE_CHECK_MS);
    await new Promise(setImmediate);
  };
  await idle();
  expect(store.checks).toBe(1);
  store.bytes = 1_001;
  await check();
  expect([limit.isFull, store.checks]).toEqual([true, 2]);
  store.bytes = 1; // By a compaction, which writes no batch.
  await idle();
  expect(limit.isFull).toBe(false);
  await limit[Symbol.asyncDispose]();
});

test("a store that cannot be measured changes nothing, and is measured again", async () => {
  const clock = new VirtualClock();
  let reads = 0;
  const storage = {
    get batches() {
      return reads;
    },
    storedBytes: async () => {
      if (++reads === 2) throw new Error("busy");
      return reads === 1 ? 2_000 : 10;
    },
    compact: async () => undefined,
  };
  const limit = await StorageLimit.open({ storage, onHeld: () => undefined, clock, logger: silentLogger }, BYTES_MAX);
  for (const isFull of [true, false]) {
    clock.advanceBy(STORAGE_CHECK_MS);
    await new Promise(setImmediate);
    expect(limit.isFull).toBe(isFull);
  }
  await limit[Symbol.asyncDispose]();
});

const FULL = { isFull: true, bytesMax: BYTES_MAX };

test.each([
  ["POST", "/Greeter/greet"],
  ["GET", "/Greeter/greet"],
  ["POST", "/restate/send/Greeter/greet"],
  ["POST", "/restate/awakeables/sign_1/resolve"],
  ["POST", "/restate/attachment"],
])("when full the ingress refuses %s %s", (method, target) => {
  const refusal = ingressGuard({ secret: undefined, isSuspended: false, storage: FULL })?.refusal(method, target, {});
  expect(refusal?.status).toBe(507);
  expect(JSON.parse(refusal?.body ?? "")).toMatchObject({ code: 507, restate_code: "TEN0003" });
});

test.each([
  ["GET", "/restate/health"],
  ["GET", "/restate/invocation/inv_1/attach"],
  ["GET", "/restate/workflow/W/k/output"],
  ["GET", "/restate/attach/inv_1?x=1"],
  ["OPTIONS", "/Greeter/greet"],
])("when full the ingress still answers %s %s", (method, target) => {
  expect(ingressGuard({ secret: undefined, isSuspended: false, storage: FULL })?.refusal(method, target, {})).toBeUndefined();
});

test("below the limit nothing is refused", () => {
  const storage = { isFull: false, bytesMax: BYTES_MAX };
  expect(ingressGuard({ secret: undefined, isSuspended: false, storage })?.refusal("POST", "/Greeter/greet", {})).toBeUndefined();
});

test("commands that add are refused when full, those that end, purge and clear pass", async () => {
  const passed: string[] = [];
  const inner = { submit: async ({ kind }: { kind: string }) => void passed.push(kind) } as unknown as Partitions;
  const partitions = limitedPartitions(inner, FULL);
  const submit = (command: object) => partitions.submit(command as Parameters<Partitions["submit"]>[0]);
  const entries = [{ key: "k", value: new Uint8Array(1) }];
  await expect(submit({ kind: "mutateState", entries })).rejects.toMatchObject({ code: "TEN0003" });
  await expect(submit({ kind: "restartAsNew" })).rejects.toMatchObject({ code: "TEN0003" });
  for (const command of [{ kind: "mutateState", entries: [] }, { kind: "cancel" }, { kind: "kill" }, { kind: "purge" }]) {
    await submit(command);
  }
  expect(passed).toEqual(["mutateState", "cancel", "kill", "purge"]);
  const reasons: string[] = [];
  const observer = {
    submitted: () => undefined,
    completed: () => undefined,
    unavailable: (reason: string) => reasons.push(reason),
  };
  partitions.invoke({ kind: "invoke" } as Invoke, false, observer);
  expect(reasons).toEqual([expect.stringContaining("TEN0003")]);
  expect(limitedPartitions(inner, undefined)).toBe(inner);
});
