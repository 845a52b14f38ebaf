/**
 * Workers of a cluster on a real Redis: which worker leads which partition, how leadership moves, and that no accepted command is lost
 * meanwhile.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import { all, counts, EVERY, type Running, submit, until, Workers } from "./workers.js";

let redis: RedisServer;
let environments = 0;
let workers: Workers;

beforeAll(async () => {
  redis = await startRedis();
}, 120_000);
afterEach(() => workers[Symbol.asyncDispose](), 60_000);
afterAll(() => redis[Symbol.asyncDispose]());

/** Each test has Redis for itself. */
function cluster(...ids: string[]): Promise<Running[]> {
  workers = new Workers({ nodes: [{ host: "127.0.0.1", port: redis.port }] }, `env_${++environments}`);
  return workers.startAll(...ids);
}

describe("workers of a cluster", () => {
  test("share the partitions evenly, also when one joins and when one leaves", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    await until("an even share", () => counts(a, b).join() === "4,4");
    const c = await workers.start("c");
    await until("a share for the third", () => counts(a, b, c).join() === "2,3,3" && all(a, b, c).join() === EVERY.join());
    await c.worker.drain();
    expect(c.worker.leading()).toEqual([]);
    await until("every partition has a leader again", () => all(a, b).join() === EVERY.join());
    await b[Symbol.asyncDispose]();
    await until("one leads all", () => all(a).join() === EVERY.join());
  }, 60_000);

  test("respond for partitions that others lead, and each accepted invocation is led by exactly one", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    const ids = await Promise.all(Array.from({ length: 200 }, (_, n) => submit(n % 2 === 0 ? a : b)));
    for (const id of ids) expect((await a.worker.partitions.describe(id))?.status).toBe("invoked");
    await until("all are tried", () =>
      ids.every((id) => [a, b].filter(({ worker }) => worker.leaderPartitions.status(id) !== undefined).length === 1),
    );
    expect(await b.worker.partitions.submit({ kind: "kill", id: ids[0] as InvocationId })).toEqual({ kind: "done" });
    expect(await a.worker.partitions.output(ids[0] as InvocationId)).toMatchObject({ kind: "completed" });
  }, 60_000);

  test("take over from a silent worker within three seconds, with everything it had accepted", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    await until("an even share", () => counts(a, b).join() === "4,4");
    const ids = await Promise.all(Array.from({ length: 100 }, () => submit(a)));
    b.cutOff();
    const tookMs = await until("one leads all", () => all(a).join() === EVERY.join());
    expect(tookMs).toBeLessThan(12_000); // The promise is three seconds on a quiet machine, and this one may be busy.
    expect(b.worker.leading()).toEqual([]);
    for (const id of ids) expect((await a.worker.partitions.describe(id))?.status).toBe("invoked");
    await until("all are tried again", () => ids.every((id) => a.worker.leaderPartitions.status(id) !== undefined));
  }, 60_000);

  test("hold on through a Redis that is killed and comes back, and lose nothing it acknowledged", async () => {
    const [a, b] = (await cluster("a", "b")) as [Running, Running];
    const ids = await Promise.all(Array.from({ length: 100 }, () => submit(a)));
    await redis.kill();
    await sleep(3_000); // Longer than a lease.
    expect(all(a, b)).toEqual([]);
    await redis.startAgain();
    await until("every partition has a leader again", () => all(a, b).join() === EVERY.join());
    for (const id of ids) expect((await b.worker.partitions.describe(id))?.status).toBe("invoked");
    await submit(b);
  }, 60_000);
});
