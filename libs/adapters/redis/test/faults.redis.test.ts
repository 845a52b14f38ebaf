/** What becomes of commits when Redis, its process, or the way to it fails at the worst moment. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { fromUtf8, utf8 } from "@perdure/base";
import { startRedis, startReplicatedRedis } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { JournalEntry, Mutation } from "@perdure/state-machine";
import { anId } from "@perdure/state-machine/testing";
import { agreedPartitionCount, readActions } from "../src/index.js";
import { COMMITS_QUEUED_MAX } from "../src/limits.js";
import { COMMITTED, connectTo, ENVIRONMENT, lead, type RedisLeader } from "./connected.js";
import { CuttingProxy } from "./cutting-proxy.js";

const id = anId(1);
const entry = (index: number): Mutation => ({
  kind: "appendEntry",
  id,
  index,
  entry: { type: MessageType.SetState, body: utf8(`entry ${index}`), appendedAtMs: index },
});
const counter = (n: number): Mutation => ({ kind: "putState", service: "O", key: "k", stateKey: "count", value: utf8(`${n}`) });
const timer = (n: number): Mutation => ({ kind: "putTimer", timer: { dueAtMs: n, kind: "sleep", id, sequence: n } });

/** The n-th commit of a leader that counts: if any were lost, doubled or torn, the rows would disagree. */
const step = (n: number): readonly Mutation[] => [entry(n), counter(n + 1), timer(n)];

async function expectExactly({ redis, store, fetch }: RedisLeader, count: number): Promise<void> {
  const [journal, value] = await fetch({ kind: "journal", id }, { kind: "state", service: "O", key: "k", stateKey: "count" });
  expect((journal as readonly JournalEntry[]).map(({ body }) => fromUtf8(body))).toEqual(
    Array.from({ length: count }, (_, n) => `entry ${n}`),
  );
  expect(value).toEqual(count === 0 ? undefined : utf8(`${count}`));
  expect(await store.timers(0, "precise", 0, 10_000)).toHaveLength(count);
  // What is billed is as exact.
  await agreedPartitionCount(redis, ENVIRONMENT, 1);
  expect((await readActions(redis, ENVIRONMENT, () => "data")).actions).toBe(count);
}

describe("a connection that is cut", () => {
  test("at any byte of a commit or of its reply: the commit is there once, and reported as committed", async () => {
    await using redis = await startRedis();
    await using proxy = await CuttingProxy.before(redis.port);
    await using connections = await connectTo(proxy.port);
    const leader = await lead(connections);
    let n = 0;
    const commit = async (): Promise<void> => expect(await leader.put(...step(n++))).toEqual(COMMITTED);

    await commit(); // Redis has the script from here on.
    const before = { ...proxy.passed };
    await commit();
    const toServer = proxy.passed.toServer - before.toServer;
    const toClient = proxy.passed.toClient - before.toClient;
    expect([toServer > 200, toClient]).toEqual([true, "*1\r\n:1\r\n".length]);

    const every = Math.ceil(toServer / 80);
    for (let at = 1; at < toServer; at += every) {
      proxy.cut(["toServer", at]);
      await commit();
    }
    for (const at of [toServer - 1, toServer]) {
      proxy.cut(["toServer", at]);
      await commit();
    }
    for (let at = 1; at <= toClient; at++) {
      proxy.cut(["toClient", at]);
      await commit();
    }
    expect(proxy.cutCount).toBeGreaterThan(60);
    await expectExactly(leader, n);
  }, 60_000);

  test("again and again, on the way there, on the way back and while it is made anew", async () => {
    await using redis = await startRedis();
    await using proxy = await CuttingProxy.before(redis.port);
    await using connections = await connectTo(proxy.port);
    const leader = await lead(connections);
    const trials = 12;
    for (let n = 0; n < trials; n++) {
      proxy.cut(["toClient", 1 + (n % 4)], ["toServer", 1 + n * 7], ["toClient", 1 + n * 11], ["toClient", 1]);
      expect(await leader.put(...step(n))).toEqual(COMMITTED);
    }
    expect(proxy.cutCount).toBeGreaterThan(trials);
    await expectExactly(leader, trials);
  }, 60_000);

  test("on the way back of a claim: it is one claim", async () => {
    await using redis = await startRedis();
    await using proxy = await CuttingProxy.before(redis.port);
    await using connections = await connectTo(proxy.port);
    const { epoch } = await lead(connections);
    proxy.cut(["toClient", 1]);
    const second = await lead(connections);
    expect(proxy.cutCount).toBe(1);
    expect(second.epoch).toBe(epoch + 1);
    expect(await second.put(...step(0))).toEqual(COMMITTED);
  });

  test("and another leader meanwhile: fenced, whether the commit had arrived or not", async () => {
    await using redis = await startRedis();
    await using proxy = await CuttingProxy.before(redis.port);
    await using direct = await connectTo(redis.port);
    for (const direction of ["toServer", "toClient"] as const) {
      await using connections = await connectTo(proxy.port);
      const old = await lead(connections);
      const [before] = await old.fetch({ kind: "journal", id });
      const n = (before as unknown[]).length;
      await old.put(counter(n)); // Redis has the script.
      await redis.request("CLIENT", "PAUSE", "300", "WRITE"); // The resent commit comes after the claim.
      proxy.cut([direction, 3]);
      const delayed = old.put(...step(n));
      const young = lead(direct);
      expect((await young).epoch).toBeGreaterThan(old.epoch);
      expect(await delayed).toEqual({ kind: "fenced", partition: 0, by: (await young).epoch });
      await expect(old.put(...step(n + 1))).resolves.toMatchObject({ kind: "fenced" });
    }
  }, 30_000);
});

describe("a Redis that fails", () => {
  test("kill -9 in the middle of commits: what was acknowledged is there, and nothing twice", async () => {
    await using redis = await startRedis();
    await using connections = await connectTo(redis.port);
    const leader = await lead(connections);
    let count = 0;
    let ended = false;
    const committing = (async () => {
      while (!ended) expect(await leader.put(...step(count++))).toEqual(COMMITTED);
    })();
    for (let kill = 0; kill < 6; kill++) {
      await sleep(150 + kill * 7);
      await redis.kill();
      await redis.startAgain();
    }
    await sleep(50);
    ended = true;
    await committing;
    expect(count).toBeGreaterThan(20);
    await expectExactly(leader, count);
  }, 60_000);

  test("away for longer than the timeout: STO0001, and nothing more under this epoch; the batch is there whole or not at all", async () => {
    await using redis = await startRedis();
    await using connections = await connectTo(redis.port, { timeoutMs: 300 });
    const leader = await lead(connections);
    await leader.put(...step(0));
    await redis.kill();
    await expect(leader.put(...step(1))).rejects.toMatchObject({ code: "STO0001" });
    await expect(leader.put(...step(1))).rejects.toMatchObject({ code: "STO0001" });
    await redis.startAgain();
    await expect(leader.put(...step(1))).rejects.toMatchObject({ code: "STO0001" });
    // Connections of their own, which are up: the others wait for their next attempt, which may take longer than their timeout.
    await using connected = await connectTo(redis.port);
    const next = await lead(connected);
    await expectExactly(next, 1);
    expect(await next.put(...step(1))).toEqual(COMMITTED);
  }, 30_000);

  test("frozen for longer than a connection may be silent: the commit is there once", async () => {
    await using redis = await startRedis();
    await using connections = await connectTo(redis.port);
    const leader = await lead(connections);
    await leader.put(...step(0));
    redis.freeze();
    const commit = leader.put(...step(1));
    await sleep(3_200);
    redis.thaw();
    expect(await commit).toEqual(COMMITTED);
    await expectExactly(leader, 2);
  }, 30_000);

  test("frozen while more commits come than may wait: those are refused, the others are there", async () => {
    await using redis = await startRedis();
    await using connections = await connectTo(redis.port);
    const leader = await lead(connections);
    redis.freeze();
    const waiting = Array.from({ length: COMMITS_QUEUED_MAX }, (_, n) => leader.put(...step(n)));
    await expect(leader.put(counter(0))).rejects.toThrow(/\[STO0001\] too many commits/);
    redis.thaw();
    for (const outcome of await Promise.all(waiting)) expect(outcome).toEqual(COMMITTED);
    await expectExactly(leader, COMMITS_QUEUED_MAX);
  });

  test("full: STO0004, with nothing written", async () => {
    await using redis = await startRedis();
    await using connections = await connectTo(redis.port, { timeoutMs: 200 });
    const leader = await lead(connections);
    await leader.put(...step(0));
    await redis.request("CONFIG", "SET", "maxmemory", "1");
    await expect(leader.put(...step(1))).rejects.toMatchObject({ code: "STO0004" });
    await redis.request("CONFIG", "SET", "maxmemory", "0");
    await expectExactly(await lead(connections), 1);
  }, 30_000);

  test("without a listener: connecting fails with STO0001 and the reason", async () => {
    await using redis = await startRedis();
    await redis.stop();
    await expect(connectTo(redis.port, { timeoutMs: 200 })).rejects.toThrow(/\[STO0001\].*ECONNREFUSED/);
  });
});

describe("replicas that are waited for", () => {
  test("a commit counts when they have it, not before, also when it is sent again on another connection", async () => {
    await using redis = await startReplicatedRedis(1);
    const [replica] = redis.replicas;
    await using connections = await connectTo(redis.primary.port, { replicas: 1 });
    const leader = await lead(connections);
    expect(await leader.put(...step(0))).toEqual(COMMITTED);

    replica?.freeze();
    let isAnswered = false;
    const commit = leader.put(...step(1)).then((outcome) => {
      isAnswered = true;
      return outcome;
    });
    await sleep(300);
    await redis.primary.request("CLIENT", "KILL", "TYPE", "normal"); // The connection that wrote is gone: another one must wait just so.
    await sleep(1_500);
    expect(isAnswered).toBe(false);
    replica?.thaw();
    expect(await commit).toEqual(COMMITTED);
    await expectExactly(leader, 2);
    expect(await replica?.request("XLEN", `{e:0}:j:${id}`)).toBe(2);
  }, 30_000);

  test("when they do not come back the fate is unknown: STO0001", async () => {
    await using redis = await startReplicatedRedis(1);
    await using connections = await connectTo(redis.primary.port, { replicas: 1, timeoutMs: 1_500 });
    const leader = await lead(connections);
    redis.replicas[0]?.freeze();
    await expect(leader.put(...step(0))).rejects.toThrow(/\[STO0001\].*0 of 1 replicas/);
  }, 30_000);
});
