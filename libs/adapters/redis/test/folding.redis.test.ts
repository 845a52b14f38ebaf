/** What leaves together travels as one script, and each part of it has an outcome of its own. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { MessageType } from "@perdure/service-protocol";
import type { Mutation } from "@perdure/state-machine";
import { anId } from "@perdure/state-machine/testing";
import { RedisPartitionStore } from "../src/index.js";
import { FOLDED_BYTES_MAX } from "../src/limits.js";
import { COMMITTED, CountedRedis, ENVIRONMENT } from "./connected.js";

let redis: CountedRedis;
beforeAll(async () => {
  redis = await CountedRedis.start();
});
afterAll(() => redis[Symbol.asyncDispose]());

const PARTITIONS = Array.from({ length: 12 }, (_, partition) => partition);
const state = (value: string, bytes = 0): Mutation[] => [
  { kind: "putState", service: "S", key: "k", stateKey: "x", value: Buffer.from(value.padEnd(bytes)) },
];
const entry = (index: number): Mutation[] => [
  { kind: "appendEntry", id: anId(1), index, entry: { type: MessageType.Input, body: new Uint8Array(3), appendedAtMs: 1 } },
];

const scriptsDuring = (work: () => Promise<unknown>): Promise<number> => redis.callsDuring(["eval", "evalsha"], work);

async function leadAll() {
  const store = new RedisPartitionStore(redis.connections, { environment: ENVIRONMENT });
  const epochs = await Promise.all(PARTITIONS.map((partition) => store.claim(partition)));
  const put = (partition: number, mutations: readonly Mutation[]) =>
    store.commit([{ partition, epoch: epochs[partition] as number, mutations }]);
  // Claims no partition, so it reads rows after a leadership has ended.
  const reader = new RedisPartitionStore(redis.connections, { environment: ENVIRONMENT });
  const value = async (partition: number) => (await reader.stateOf(partition, "S", "k")).get("x");
  return { store, put, value };
}

test("commits of many partitions that leave together are one script", async () => {
  const { put, value } = await leadAll();
  await put(0, state("the script is known"));
  const scripts = await scriptsDuring(async () => {
    const outcomes = await Promise.all(PARTITIONS.map((partition) => put(partition, state(`of ${partition}`))));
    expect(outcomes).toEqual(PARTITIONS.map(() => COMMITTED));
  });
  expect(scripts).toBe(1);
  for (const partition of PARTITIONS) expect(Buffer.from((await value(partition)) ?? []).toString()).toBe(`of ${partition}`);
});

test("a script that does not hold more than it may is followed by another", async () => {
  const { put } = await leadAll();
  const large = Math.floor(FOLDED_BYTES_MAX / 3);
  await put(0, state("the script is known"));
  const scripts = await scriptsDuring(() => Promise.all([0, 1, 2, 3, 4].map((partition) => put(partition, state("", large)))));
  expect(scripts).toBe(3);
});

test("one that is fenced and one that does not fit what is stored leave the others alone", async () => {
  const { put, value } = await leadAll();
  await Promise.all(PARTITIONS.map((partition) => put(partition, state("before"))));
  const successor = new RedisPartitionStore(redis.connections, { environment: ENVIRONMENT });
  const epoch = await successor.claim(3);
  await redis.server.request("XADD", `{${ENVIRONMENT}:7}:j:${anId(1)}`, "1-1", "e", "not ours");

  const outcomes = await Promise.allSettled(PARTITIONS.map((partition) => put(partition, [...state("after"), ...entry(0)])));
  for (const [partition, outcome] of outcomes.entries()) {
    if (partition === 3) expect(outcome).toEqual({ status: "fulfilled", value: { kind: "fenced", partition, by: epoch } });
    else if (partition === 7) expect(outcome).toMatchObject({ status: "rejected", reason: { code: "STO0003" } });
    else expect(outcome).toEqual({ status: "fulfilled", value: COMMITTED });
    const stored = Buffer.from((await value(partition)) ?? []).toString();
    expect(stored).toBe(partition === 3 || partition === 7 ? "before" : "after");
  }
});

test("one that fails on its way, as its data are damaged, leaves the others alone", async () => {
  const { put, value } = await leadAll();
  await redis.server.request("DEL", `{${ENVIRONMENT}:5}:lock`);
  await redis.server.request("SET", `{${ENVIRONMENT}:5}:lock`, "a hash once");
  const lock: Mutation = { kind: "deleteLock", service: "S", key: "k" };
  const outcomes = await Promise.allSettled(PARTITIONS.map((partition) => put(partition, [...state("whole"), lock])));
  for (const [partition, outcome] of outcomes.entries()) {
    if (partition === 5) expect(outcome).toMatchObject({ status: "rejected", reason: { code: "STO0003" } });
    else {
      expect(outcome).toEqual({ status: "fulfilled", value: COMMITTED });
      expect(Buffer.from((await value(partition)) ?? []).toString()).toBe("whole");
    }
  }
});
