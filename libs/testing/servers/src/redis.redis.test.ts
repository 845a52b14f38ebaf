import { existsSync } from "node:fs";
import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import { startRedis, startRedisCluster, startReplicatedRedis } from "./redis.js";

test("what was acknowledged is there after kill -9, on the same port; disposing leaves neither process nor data", async () => {
  let directory = "";
  let pid = 0;
  {
    await using redis = await startRedis();
    ({ directory, pid } = redis);
    expect(await redis.request("CONFIG", "GET", "appendfsync")).toEqual(["appendfsync", "always"]);
    await redis.request("SET", "k", "v");
    await redis.kill();
    expect(redis.isRunning).toBe(false);
    await redis.startAgain();
    expect(redis.pid).not.toBe(pid);
    pid = redis.pid;
    expect(await redis.request("GET", "k")).toBe("v");
    expect(redis.log()).toMatch(/Ready to accept connections/);
  }
  expect(existsSync(directory)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});

test("a frozen server keeps its connections and answers no request until it thaws", async () => {
  await using redis = await startRedis({ password: "secret" });
  const socket = connect(redis.port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  redis.freeze();
  await expect(redis.request("PING")).rejects.toThrow("does not answer");
  redis.thaw();
  expect(await redis.request("PING")).toBe("PONG");
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});

test("a server that cannot start reports its own error", async () => {
  await expect(startRedis({ config: { maxmemory: "much" } })).rejects.toThrow(/argument must be a memory value/);
});

test("a replica has what its primary acknowledged after WAIT", async () => {
  await using redis = await startReplicatedRedis(1);
  await redis.primary.request("SET", "k", "v");
  expect(await redis.primary.request("INFO", "replication")).toMatch(/connected_slaves:1/);
  expect(await redis.replicas[0]?.request("ROLE")).toEqual(expect.arrayContaining(["slave", "connected"]));
});

test("three nodes share the slots of a cluster", async () => {
  await using cluster = await startRedisCluster();
  const [node] = cluster.nodes;
  expect(await node?.request("CLUSTER", "INFO")).toMatch(/cluster_slots_ok:16384/);
  const outcomes = await Promise.allSettled(cluster.nodes.map((each) => each.request("SET", "{a}k", "v")));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});
