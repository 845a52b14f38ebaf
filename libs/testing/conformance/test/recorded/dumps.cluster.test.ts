/**
 * Redis and PostgreSQL of a cluster as the commit before version 0.1.0 left them when all its processes were killed in the middle of their
 * work (`recorder/record-cluster.ts`): the present build reads every row, finishes all of it, and leaves data of later versions alone.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { DevCluster } from "@perdure/dev-cluster";
import { type RedisServer, startRedis } from "@perdure/servers";
import { parseRecordedRows } from "@perdure/storage/testing";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../src/index.js";
import type { RecordedFacts } from "./facts.js";
import { completeAll, expectAllFinished, expectNothingLost, moveDeployment, resumeQueue } from "./finishing.js";
import { recordedFacts, unpackRecording } from "./packed.js";
import { ENVIRONMENT, redisRows } from "./redis-rows.js";
import { restoreCluster, restoreRedis } from "./restored.js";
import { recordedServices, replay } from "./services.js";
import { CLUSTER_OPTIONS } from "./settings.js";
import type { StoredRow } from "./stored-rows.js";

/** The programs may have to be built first. */
const TEST_MS = 300_000;
const LEADING_MS = 60_000;

const facts = recordedFacts<RecordedFacts>("cluster.v1.json");
let root: string;
beforeAll(() => {
  replay.isOpen = true;
});
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "perdure-recorded-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test(
  "every row in Redis reads as it was recorded, pending messages between partitions among them",
  async () => {
    unpackRecording("cluster.v1.rows.br", root);
    const recorded = parseRecordedRows<readonly StoredRow[]>(readFileSync(join(root, "rows.json"), "utf8"));
    unpackRecording("cluster.v1.files.br", root);
    await restoreRedis(join(root, "redis"));
    await using redis = await startRedis({ directory: join(root, "redis") });
    const rows = await redisRows(redis.port);
    expect(rows.length).toBe(recorded.length);
    // Redis returns the fields of a hash in any order.
    const sorted = (all: readonly StoredRow[]): string[] => all.map((row) => JSON.stringify(row)).sort();
    expect(sorted(rows)).toEqual(sorted(recorded));
    expect(rows.filter(({ table }) => table === "outbox")).toHaveLength(facts.outboxCount);
    expect(facts.outboxCount).toBeGreaterThan(0);
  },
  TEST_MS,
);

test(
  "the present cluster finishes everything in them, and nothing is lost or doubled",
  async () => {
    const directories = await restoreCluster(root);
    await using endpoint = await SdkEndpoint.start({ services: recordedServices });
    await using cluster = await DevCluster.start({ ...CLUSTER_OPTIONS, directories });
    using admin = new TestAdminClient(cluster.adminUrl);
    using ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
    const world = { admin, ingress, endpoint, facts };
    await moveDeployment(world);
    await eventually("calls are answered", async () => (await ingress.call(["Errand", "tick"])).status === 200, LEADING_MS);
    await completeAll(world);
    await resumeQueue(world);
    await expectAllFinished(world);
    await expectNothingLost(world);
    expect(await cluster.redis.request("ZCARD", `{${ENVIRONMENT}:0}:out:at`)).toBe(0);
  },
  TEST_MS,
);

test(
  "a partition of an unknown version is refused with STO0003, and nothing in it changes",
  async () => {
    const directories = await restoreCluster(root);
    const later = `{${ENVIRONMENT}:3}:`;
    const contents = async (redis: RedisServer): Promise<readonly string[]> => {
      const keys = (await redis.request("KEYS", `${later}*`)) as readonly string[];
      return (await Promise.all(keys.map(async (key) => `${key} ${JSON.stringify(await contentOf(redis, key))}`))).sort();
    };
    const before = await withRedis(directories.redis, async (redis) => {
      await redis.request("HSET", `${later}epoch`, "format", "1000");
      return await contents(redis);
    });
    expect(before.length).toBeGreaterThan(1);
    await expect(DevCluster.start({ ...CLUSTER_OPTIONS, workers: 1, directories })).rejects.toThrow(
      /worker1 ended before it was ready[\s\S]*STO0003[\s\S]*another format/,
    );
    expect(await withRedis(directories.redis, contents)).toEqual(before);
  },
  TEST_MS,
);

/** Without the order that hashes and sets have by chance. */
async function contentOf(redis: RedisServer, key: string): Promise<unknown> {
  const type = String(await redis.request("TYPE", key));
  switch (type) {
    case "hash": {
      const fields = (await redis.request("HGETALL", key)) as readonly string[];
      return fields.map((field, n) => (n % 2 === 0 ? [field, fields[n + 1]] : undefined)).sort();
    }
    case "set":
      return ((await redis.request("SMEMBERS", key)) as readonly string[]).toSorted();
    case "zset":
      return redis.request("ZRANGE", key, "0", "-1", "WITHSCORES");
    case "stream":
      return redis.request("XRANGE", key, "-", "+");
    case "string":
      return redis.request("GET", key);
    default:
      throw new Error(`${key} is a ${type}`);
  }
}

/** A Redis on the directory, for as long as `work` takes. */
async function withRedis<T>(directory: string, work: (redis: RedisServer) => Promise<T>): Promise<T> {
  await using redis = await startRedis({ directory });
  const result = await work(redis);
  await redis.stop();
  return result;
}
