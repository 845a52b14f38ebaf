/**
 * The start script of replicated Redis, with real servers, each on a loopback address of its own: which one is primary, and which data each
 * has.
 */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { START_REPLICATED } from "../src/desired/redis-start.js";
import { containerCommand, HOSTS, ReplicatedPods, write } from "./replicated-redis.js";

const TEST_MS = 30_000;

let pods: ReplicatedPods;
beforeEach(async () => {
  pods = await ReplicatedPods.create();
}, TEST_MS);
afterEach(() => pods[Symbol.asyncDispose]());

describe("the readiness of a Redis", () => {
  test(
    "is that of its role: a replica without its primary is not ready, nor is one that copies nothing, nor a primary without any replica",
    async () => {
      expect(containerCommand()).toEqual(["sh", "-c", START_REPLICATED, "redis"]);
      expect(await pods.isReady(0)).toBe(false);
      await pods.startAll();
      for (const ordinal of [0, 1, 2]) await pods.untilReady(ordinal);
      await pods.kill(0);
      expect(await pods.isReady(0)).toBe(false);
      await pods.untilReady(1, false);
      await pods.start(0);
      for (const ordinal of [0, 1]) await pods.untilReady(ordinal);
      {
        await using replica = await pods.connect(1);
        await replica.commits.one(["REPLICAOF", "NO", "ONE"]);
      }
      expect(await pods.isReady(1)).toBe(false);
      await pods.untilReady(0);
      await pods.kill(2);
      await pods.untilReady(0, false);
    },
    TEST_MS,
  );

  test(
    "needs the password: an answer that is an error is not a success",
    async () => {
      await pods.startAll();
      await pods.untilReady(0);
      {
        await using redis = await pods.connect(0);
        await redis.commits.one(["CONFIG", "SET", "requirepass", "another"]);
      }
      expect(await pods.isReady(0)).toBe(false);
    },
    TEST_MS,
  );
});

describe("of three Redis", () => {
  test(
    "the first is the primary, and a new one waits for no replica's data",
    async () => {
      await pods.startAll();
      await using redis = await pods.connect(0);
      await write(redis, "a");
      await using replica = await pods.connect(2);
      expect(String(await replica.reads.one(["INFO", "replication"]))).toMatch(/role:slave/);
    },
    TEST_MS,
  );

  test(
    "the primary that comes back with its volume has everything at once",
    async () => {
      await pods.startAll();
      {
        await using redis = await pods.connect(0);
        await write(redis, "a");
      }
      await pods.kill(0);
      await pods.start(0);
      expect(await pods.size(0)).toBe(1);
    },
    TEST_MS,
  );

  test(
    "the promoted one is the primary, and the first one follows it, whatever its volume holds",
    async () => {
      await pods.startAll();
      {
        await using redis = await pods.connect(0);
        await write(redis, "a");
      }
      await pods.untilSize(1, 1);
      await pods.untilOnVolume(1);
      for (const ordinal of [0, 1, 2]) await pods.kill(ordinal);
      for (const ordinal of [0, 1, 2]) await pods.start(ordinal, "redis-1");
      await using redis = await pods.connect(1);
      await write(redis, "b");
      await pods.untilSize(0, 2);
      await using first = await pods.connect(0);
      expect(String(await first.reads.one(["INFO", "replication"]))).toContain(`master_host:${HOSTS[1]}`);
    },
    TEST_MS,
  );

  test.each([
    { primary: 0, fast: 2, slow: 1, name: undefined },
    { primary: 1, fast: 0, slow: 2, name: "redis-1" },
  ])(
    "a primary (redis-$primary) that lost its volume takes everything from the replica that has received most, before it takes any write",
    async ({ primary, fast, slow, name }) => {
      for (const ordinal of [0, 1, 2]) await pods.start(ordinal, name);
      {
        await using redis = await pods.connect(primary);
        for (let n = 0; n < 20; n++) await write(redis, `before:${n}`);
        await pods.untilSize(slow, 20);
        await pods.untilSize(fast, 20);
        // One replica misses the following writes, which the other one acknowledges.
        pods.signal(slow, "SIGSTOP");
        for (let n = 0; n < 20; n++) await write(redis, `after:${n}`);
        pods.signal(primary, "SIGKILL");
        pods.signal(slow, "SIGCONT");
      }
      await pods.kill(primary);
      await pods.loseVolume(primary);
      await pods.start(primary, name);
      await using again = await pods.connect(primary);
      expect(Number(await again.reads.one(["DBSIZE"]))).toBe(40);
      await write(again, "later");
      await pods.untilSize(slow, 41);
      // And what it took over is on its own volume.
      await pods.kill(primary);
      await pods.start(primary, name);
      expect(await pods.size(primary)).toBe(41);
    },
    TEST_MS,
  );
});
