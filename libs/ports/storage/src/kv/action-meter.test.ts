import { expect, test } from "@jest/globals";
import { newInvocationId, systemRandom, utf8 } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import type { Mutation } from "@perdure/state-machine";
import { ActionMeter } from "./action-meter.js";
import { ActionTotals } from "./action-totals.js";
import { MemoryKeyValue } from "./key-value.js";
import { KvPartitionStore } from "./kv-partition-store.js";

const id = newInvocationId({ service: "Counter", key: undefined, handler: "add" }, 0, systemRandom);
const entry = (index: number, type: number): Mutation => ({
  kind: "appendEntry",
  id,
  index,
  entry: { type, body: utf8("x"), appendedAtMs: 1 },
});

test("starts and steps count, once and only when they are durable; notifications and results do not", async () => {
  const kv = new MemoryKeyValue();
  const meter = await ActionMeter.open(kv, () => "first");
  const store = new KvPartitionStore(kv, meter);
  const epoch = await store.claim(0);
  await store.commit([{ partition: 0, epoch, mutations: [entry(0, MessageType.Input), entry(1, MessageType.Run)] }]);
  expect(meter.actions).toBe(2);
  await store.commit([{ partition: 0, epoch, mutations: [entry(2, MessageType.RunCompletion), entry(3, MessageType.Output)] }]);
  expect(meter.actions).toBe(2);
  expect(await store.commit([{ partition: 0, epoch: epoch + 1, mutations: [entry(4, MessageType.Run)] }])).toMatchObject({
    kind: "fenced",
  });
  expect(meter.actions).toBe(2);
});

test("the total matches the stored rows, whenever its process ended", async () => {
  const kv = new MemoryKeyValue();
  const meter = await ActionMeter.open(kv, () => "first");
  const store = new KvPartitionStore(kv, meter);
  const epoch = await store.claim(0);
  await store.commit([{ partition: 0, epoch, mutations: [entry(0, MessageType.Input)] }]);
  // The process ends while a batch is under way: neither its work nor its count is stored.
  const write = kv.write.bind(kv);
  kv.write = () => Promise.reject(new Error("the process ends here"));
  await expect(store.commit([{ partition: 0, epoch, mutations: [entry(1, MessageType.Run)] }])).rejects.toThrow("ends here");
  expect(meter.actions).toBe(1);
  kv.write = write;
  const again = await ActionMeter.open(kv, () => "second");
  expect([again.source, again.actions]).toEqual(["first", 1]);
});

/** Stores actions in a partition of its own. */
async function storeOf(kv: MemoryKeyValue, meter: ActionMeter, partition: number) {
  const store = new KvPartitionStore(kv, meter);
  const epoch = await store.claim(partition);
  let index = 0;
  return {
    store,
    async act(count: number): Promise<void> {
      const mutations = Array.from({ length: count }, () => entry(index++, MessageType.Run));
      await store.commit([{ partition, epoch, mutations }]);
    },
  };
}

const rowsOf = (kv: MemoryKeyValue): string[] => [...kv.snapshot().keys()].filter((key) => key.startsWith("!a")).sort();

test("several writers count in rows of their own; the total is their sum, in the threads of all", async () => {
  const kv = new MemoryKeyValue();
  const totals = ActionTotals.ofWriters(3);
  const first = await storeOf(kv, await ActionMeter.open(kv, () => "first", totals), 0);
  const shared = new ActionTotals(totals.buffer);
  const meter = ActionMeter.openBeside(kv, 2, shared);
  const third = await storeOf(kv, meter, 2);
  await first.act(2);
  await third.act(3);
  await first.act(1);
  expect([totals.actions, meter.actions, meter.source]).toEqual([6, 6, "first"]);
  expect(rowsOf(kv)).toEqual(["!a", "!a2"]);
});

test("after a crash, the next start counts the actions of all writers, with any number of writers", async () => {
  const kv = new MemoryKeyValue();
  const totals = ActionTotals.ofWriters(3);
  const first = await storeOf(kv, await ActionMeter.open(kv, () => "first", totals), 0);
  await first.act(4);
  for (const writer of [1, 2]) await (await storeOf(kv, ActionMeter.openBeside(kv, writer, totals), writer)).act(writer);
  for (const writers of [1, 2, 5]) {
    const again = ActionTotals.ofWriters(writers);
    const meter = await ActionMeter.open(kv, () => "none", again);
    expect([meter.actions, again.actions, rowsOf(kv)]).toEqual([7, 7, ["!a"]]);
    if (writers > 1) expect(ActionMeter.openBeside(kv, 1, again).actions).toBe(7);
  }
});

test("an orderly stop leaves one row, which earlier versions read; a writer that did not stop keeps its own", async () => {
  const kv = new MemoryKeyValue();
  const totals = ActionTotals.ofWriters(2);
  const first = await storeOf(kv, await ActionMeter.open(kv, () => "first", totals), 0);
  const second = await storeOf(kv, ActionMeter.openBeside(kv, 1, totals), 1);
  await first.act(1);
  await second.act(2);
  await first.store[Symbol.asyncDispose]();
  expect(rowsOf(kv)).toEqual(["!a", "!a1"]);
  await second.act(1); // A batch that was under way when its thread crashed counts once.
  await second.store[Symbol.asyncDispose]();
  await first.store[Symbol.asyncDispose]();
  expect(rowsOf(kv)).toEqual(["!a"]);
  expect((await ActionMeter.open(kv, () => "none")).actions).toBe(4);
});

test("a stop that cannot store the sum stops all the same, and loses no action", async () => {
  const kv = new MemoryKeyValue();
  const totals = ActionTotals.ofWriters(2);
  const first = await storeOf(kv, await ActionMeter.open(kv, () => "first", totals), 0);
  const second = await storeOf(kv, ActionMeter.openBeside(kv, 1, totals), 1);
  await second.act(2);
  await second.store[Symbol.asyncDispose]();
  const write = kv.write.bind(kv);
  kv.write = () => Promise.reject(new Error("no space"));
  await first.store[Symbol.asyncDispose]();
  kv.write = write;
  expect((await ActionMeter.open(kv, () => "none")).actions).toBe(2);
});
