/** How few writes a batch becomes, and that none of it is missing. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Invocation, Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { SCRIPT_ARGS_MAX } from "../src/limits.js";
import { COMMITTED, CountedRedis, lead } from "./connected.js";

let redis: CountedRedis;
let partition = 0;
beforeAll(async () => {
  redis = await CountedRedis.start();
});
afterAll(() => redis[Symbol.asyncDispose]());

const writesDuring = (work: () => Promise<unknown>): Promise<number> => redis.callsDuring(["hset", "hdel", "hincrby"], work);

const step = (status: Invocation["status"], modifiedAtMs: number): Mutation => ({
  kind: "putInvocation",
  invocation: anInvocation(status, { facts: someFacts({ id: anId(1) }), modifiedAtMs }),
});

test("a step of an invocation whose status stays writes its row and the number of the batch, nothing else", async () => {
  const { put } = await lead(redis.connections, ++partition);
  expect(await writesDuring(() => put(step("invoked", 1)))).toBe(3);
  expect(await writesDuring(() => put(step("invoked", 2)))).toBe(2);
});

test("a new leader finds running invocations by their last status, however often it changed and whichever leader wrote it", async () => {
  const former = await lead(redis.connections, ++partition);
  const activeIds = async ({ store } = former) => {
    const ids: string[] = [];
    for await (const invocation of store.recoverable(partition)) ids.push(`${invocation.status} ${invocation.modifiedAtMs}`);
    return ids;
  };
  for (const [n, [status, expectedIds]] of (
    [
      ["invoked", ["invoked 0"]],
      ["invoked", ["invoked 1"]],
      ["suspended", []],
      ["invoked", ["invoked 3"]],
      ["paused", []],
      ["invoked", ["invoked 5"]],
      ["completed", []],
      ["invoked", ["invoked 7"]],
    ] as const
  ).entries()) {
    expect(await former.put(step(status, n))).toEqual(COMMITTED);
    expect(await activeIds()).toEqual(expectedIds);
  }
  const successor = await lead(redis.connections, partition);
  expect(await successor.put(step("paused", 8))).toEqual(COMMITTED);
  expect(await activeIds(successor)).toEqual([]);
  expect(await former.put(step("invoked", 9))).toMatchObject({ kind: "fenced" });
  expect(await activeIds(successor)).toEqual([]);
});

test("a batch with more rows of one kind than a command takes is there whole, and goes whole", async () => {
  const { put, store } = await lead(redis.connections, ++partition);
  const numbers = Array.from({ length: SCRIPT_ARGS_MAX + 1 }, (_, n) => n);
  const timer = (n: number) => ({ dueAtMs: n, kind: "sleep", id: anId(n), sequence: 0 }) as const;
  const states = async () => (await store.stateOf(partition, "S", "k")).size;
  const timers = async () => (await store.timers(partition, "precise", 0, numbers.length * 2)).length;
  await put(
    ...numbers.map((n): Mutation => ({ kind: "putState", service: "S", key: "k", stateKey: `${n}`, value: Buffer.from("v") })),
    ...numbers.map((n): Mutation => ({ kind: "putTimer", timer: timer(n) })),
  );
  expect([await states(), await timers()]).toEqual([numbers.length, numbers.length]);
  await put(
    ...numbers.map((n): Mutation => ({ kind: "deleteState", service: "S", key: "k", stateKey: `${n}` })),
    ...numbers.map((n): Mutation => ({ kind: "deleteTimer", timer: timer(n) })),
  );
  expect([await states(), await timers()]).toEqual([0, 0]);
});
