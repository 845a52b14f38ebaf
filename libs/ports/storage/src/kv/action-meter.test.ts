import { expect, test } from "@jest/globals";
import { newInvocationId, systemRandom, utf8 } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import type { Mutation } from "@perdure/state-machine";
import { ActionMeter } from "./action-meter.js";
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
