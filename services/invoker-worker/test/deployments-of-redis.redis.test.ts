/** Workers on the Redis that larger installations have: a cluster of several nodes, and a primary with replicas that are waited for. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import type { RedisConnectionOptions, RedisNode } from "@perdure/redis";
import { type RedisCluster, type ReplicatedRedis, requestRedis, startRedisCluster, startReplicatedRedis } from "@perdure/servers";
import { all, EVERY, type Running, submit, until, Workers } from "./workers.js";

const at = ({ port }: { readonly port: number }): RedisNode => ({ host: "127.0.0.1", port });

async function statuses({ worker }: Running, ids: readonly InvocationId[]): Promise<Set<string | undefined>> {
  return new Set(await Promise.all(ids.map(async (id) => (await worker.partitions.describe(id))?.status)));
}

describe("workers on a Redis Cluster", () => {
  let redis: RedisCluster;
  beforeAll(async () => {
    redis = await startRedisCluster();
  }, 120_000);
  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  test("keep partitions on all nodes, take over from each other, and survive the end of a node", async () => {
    const options: RedisConnectionOptions = { nodes: redis.nodes.map(at) as [RedisNode, ...RedisNode[]], cluster: true };
    await using workers = new Workers(options, "env_cluster");
    const [a, b] = (await workers.startAll("a", "b")) as [Running, Running];
    const ids = await Promise.all(Array.from({ length: 120 }, (_, n) => submit(n % 2 === 0 ? a : b)));
    expect(await statuses(a, ids)).toEqual(new Set(["invoked"]));
    for (const { port } of redis.nodes) expect(Number(await requestRedis(port, ["DBSIZE"]))).toBeGreaterThan(0);

    b.cutOff();
    await until("one leads all", () => all(a).join() === EVERY.join());
    expect(await statuses(a, ids)).toEqual(new Set(["invoked"]));

    const node = redis.nodes[1] as (typeof redis.nodes)[number];
    await node.kill();
    await node.startAgain();
    await until("every partition has a leader again", () => all(a).join() === EVERY.join(), 30_000);
    await until(
      "every status is readable again",
      async () => (await statuses(a, ids).catch(() => new Set())).has("invoked"),
      30_000,
    );
    expect(await statuses(a, ids)).toEqual(new Set(["invoked"]));
    await submit(a);
  }, 120_000);
});

describe("workers on a Redis with a replica that is waited for", () => {
  let redis: ReplicatedRedis;
  beforeAll(async () => {
    redis = await startReplicatedRedis(1);
  }, 120_000);
  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  test("accept nothing that the replica does not have, and find all that they accepted when it is promoted", async () => {
    const { primary, replicas } = redis;
    const replica = replicas[0] as (typeof replicas)[number];
    const accepted: InvocationId[] = [];
    {
      await using workers = new Workers({ nodes: [at(primary)], replicas: 1, timeoutMs: 2_000 }, "env_replica");
      const [a] = (await workers.startAll("a")) as [Running];
      accepted.push(...(await Promise.all(Array.from({ length: 60 }, () => submit(a)))));
      replica.freeze();
      let isAccepted = false;
      const submitted = submit(a).then(
        (id) => {
          isAccepted = true;
          accepted.push(id);
        },
        () => undefined, // Not reported as accepted to any client.
      );
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(isAccepted).toBe(false);
      replica.thaw();
      await submitted;
      await until(
        "it continues",
        () =>
          submit(a)
            .then((id) => accepted.push(id) > 0)
            .catch(() => false),
        30_000,
      );
      await primary.kill(); // With its machine and its disk.
    }
    await requestRedis(replica.port, ["REPLICAOF", "NO", "ONE"]);
    await using successors = new Workers({ nodes: [at(replica)] }, "env_replica");
    const [b] = (await successors.startAll("b")) as [Running];
    expect(await statuses(b, accepted)).toEqual(new Set(["invoked"]));
    await submit(b);
  }, 120_000);
});
