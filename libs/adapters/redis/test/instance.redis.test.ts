/** A shared Redis, a restored one, and probes of ones that cannot be used. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock, utf8 } from "@perdure/base";
import { freePorts, type RedisServer, startRedis } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { Mutation } from "@perdure/state-machine";
import { anId } from "@perdure/state-machine/testing";
import { agreedPartitionCount, beginInstance, probeRedis, RedisLeases, RedisPartitionStore, readActions } from "../src/index.js";
import { COMMITTED, connectTo, ENVIRONMENT, lead } from "./connected.js";

const owned = new AsyncDisposableStack();
let server: RedisServer;
beforeAll(async () => {
  server = owned.use(await startRedis({ password: "secret" }));
});
afterAll(() => owned.disposeAsync());

const password = new Secret("secret");
const entry = (index: number, type: number): Mutation => ({
  kind: "appendEntry",
  id: anId(1),
  index,
  entry: { type, body: utf8("x"), appendedAtMs: 1 },
});
const put = { kind: "putDedup", producer: "p", seq: 1 } as const;

test("all keys begin with the prefix, and those of another prefix are another world", async () => {
  await using ours = await connectTo(server.port, { password, keyPrefix: "ours:" });
  await using theirs = await connectTo(server.port, { password, keyPrefix: "theirs:" });
  const leader = await lead(ours);
  expect(await leader.put(put)).toEqual(COMMITTED);
  expect(await (await lead(theirs)).fetch({ kind: "dedup", producer: "p" })).toEqual([undefined]);
  const keys = (await ours.reads.one(["KEYS", "*"])) as readonly Buffer[];
  expect(keys.map(String).filter((key) => !/^(ours|theirs):\{e:0\}:/.test(key))).toEqual([]);
});

describe("what was done", () => {
  test("is counted with the batch that it is part of: starts and steps of all partitions, whichever worker led, once", async () => {
    await using redis = await connectTo(server.port, { password, keyPrefix: "counted:" });
    const done = () => readActions(redis, ENVIRONMENT, () => "data");
    expect(await done()).toEqual({ source: "data", actions: 0 });
    await agreedPartitionCount(redis, ENVIRONMENT, 3);
    const first = await lead(redis);
    expect(await first.put(entry(0, MessageType.Input), entry(1, MessageType.Run))).toEqual(COMMITTED);
    expect(await first.put(entry(2, MessageType.RunCompletion), entry(3, MessageType.Output))).toEqual(COMMITTED);
    expect(await (await lead(redis, 2)).put(entry(0, MessageType.Input))).toEqual(COMMITTED);
    expect(await done()).toEqual({ source: "data", actions: 3 });
    const second = await lead(redis);
    expect(await first.put(entry(4, MessageType.Run))).toMatchObject({ kind: "fenced" });
    expect(await second.put(entry(4, MessageType.Run))).toEqual(COMMITTED);
    expect(await readActions(redis, ENVIRONMENT, () => "another worker's name")).toEqual({ source: "data", actions: 4 });
  });

  test("begins at zero under another name when a Redis was restored, and is not reported while only some partitions have the name", async () => {
    await using redis = await connectTo(server.port, { password, keyPrefix: "recounted:" });
    const done = () => readActions(redis, ENVIRONMENT, () => "data");
    await agreedPartitionCount(redis, ENVIRONMENT, 2);
    expect(await (await lead(redis)).put(entry(0, MessageType.Input))).toEqual(COMMITTED);
    await beginInstance(redis, ENVIRONMENT, 1, "second-life");
    await expect(done()).rejects.toThrow("STO0001");
    await beginInstance(redis, ENVIRONMENT, 2, "second-life");
    expect(await done()).toEqual({ source: "data.second-life", actions: 0 });
    expect(await (await lead(redis)).put(entry(1, MessageType.Run))).toEqual(COMMITTED);
    expect(await done()).toEqual({ source: "data.second-life", actions: 1 });
  });
});

describe("a restored environment", () => {
  test("refuses every earlier leader and holder of leases, and begins each instance once", async () => {
    await using redis = await connectTo(server.port, { password, keyPrefix: "restored:" });
    const before = await lead(redis);
    expect(await before.put(put)).toEqual(COMMITTED);
    const leases = new RedisLeases(redis, { environment: ENVIRONMENT, worker: "old" }, systemClock);
    const [held] = await leases.acquire([1]);
    expect(held?.kind).toBe("held");

    expect(await beginInstance(redis, ENVIRONMENT, 2, "second-life")).toBe(2);
    expect(await before.put({ ...put, seq: 2 })).toMatchObject({ kind: "fenced" });
    expect((await leases.renew([1]))[0]?.kind).not.toBe("held");

    const after = await lead(redis);
    expect(after.epoch).toBeGreaterThan(before.epoch + 1_000_000);
    expect(await beginInstance(redis, ENVIRONMENT, 2, "second-life")).toBe(0);
    expect(await after.put({ ...put, seq: 3 })).toEqual(COMMITTED);
    expect(await after.fetch({ kind: "dedup", producer: "p" })).toEqual([3]);
    const next = new RedisPartitionStore(redis, { environment: ENVIRONMENT });
    expect(await next.claim(0)).toBe(after.epoch + 1);
  });
});

describe("a probe of a Redis", () => {
  const at = (port: number) => ({ nodes: [{ host: "127.0.0.1", port }] as const });

  test("reports whether it answers and is durable", async () => {
    expect(await probeRedis({ ...at(server.port), password }, silentLogger)).toEqual({ kind: "answers", isDurable: true });
    await using forgetful = await startRedis({ config: { appendonly: "no" } });
    expect(await probeRedis(at(forgetful.port), silentLogger)).toEqual({ kind: "answers", isDurable: false });
    await using cache = await startRedis({ config: { "maxmemory-policy": "allkeys-lru" } });
    expect(await probeRedis(at(cache.port), silentLogger)).toEqual({ kind: "evicts", policy: "allkeys-lru" });
  });

  test("reports refused credentials, or that there is no listener", async () => {
    const wrong = await probeRedis({ ...at(server.port), password: new Secret("wrong") }, silentLogger);
    expect(wrong).toMatchObject({ kind: "refused", reason: expect.stringMatching(/WRONGPASS/) });
    expect(await probeRedis(at(server.port), silentLogger)).toMatchObject({ kind: "refused" });
    const [closed] = (await freePorts(1)) as [number];
    expect(await probeRedis(at(closed), silentLogger)).toMatchObject({
      kind: "silent",
      reason: expect.stringMatching(/ECONNREFUSED/),
    });
  });
});
