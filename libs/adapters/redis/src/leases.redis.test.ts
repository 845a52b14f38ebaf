import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import type { LeaseOutcome } from "@perdure/storage";
import { connectTo } from "../test/connected.js";
import { type RedisConnections, RedisLeases, RedisMembership, RedisPartitionStore } from "./index.js";

const owned = new AsyncDisposableStack();
let server: RedisServer;
let redis: RedisConnections;
let count = 0;
beforeAll(async () => {
  server = owned.use(await startRedis());
  redis = owned.use(await connectTo(server.port));
});
afterAll(() => owned.disposeAsync());

/** Workers of an environment of their own. */
function world(leaseMs = 60_000, marginMs = 1_000) {
  const environment = `leases${count++}`;
  return {
    environment,
    worker: (worker: string) => new RedisLeases(redis, { environment, worker, leaseMs, marginMs }, systemClock),
    storeOf: (holder: string) => new RedisPartitionStore(redis, { environment, holder }),
  };
}
const kinds = (outcomes: readonly LeaseOutcome[]): string[] => outcomes.map(({ kind }) => kind);
const epochOf = (outcome: LeaseOutcome | undefined): number => (outcome?.kind === "held" ? outcome.lease.epoch : -1);

describe("leases in Redis", () => {
  test("one worker holds a partition; another learns which one, and for how long at most", async () => {
    const { worker } = world();
    const [a, b] = [worker("a"), worker("b")];
    expect(kinds(await a.acquire([0, 1]))).toEqual(["held", "held"]);
    const [occupied, held] = await b.acquire([1, 2]);
    expect(occupied).toEqual({ kind: "taken", partition: 1, by: "a", forMs: expect.any(Number) });
    expect(occupied?.kind === "taken" && occupied.forMs > 0 && occupied.forMs <= 60_000).toBe(true);
    expect(held?.kind).toBe("held");
    expect((await b.holders([0, 1, 2, 3])).map((holder) => holder?.worker)).toEqual(["a", "a", "b", undefined]);
  });

  test("the holder's own clock ends the lease a margin before Redis does, counted from its request", async () => {
    const { worker } = world();
    const before = performance.now();
    const [held] = await worker("a").acquire([0]);
    const after = performance.now();
    const endsAtMs = held?.kind === "held" ? held.lease.endsAtMs : 0;
    expect(endsAtMs).toBeGreaterThanOrEqual(before + 59_000);
    expect(endsAtMs).toBeLessThanOrEqual(after + 59_000);
  });

  test("the epoch rises when a lease changes hands, and only then", async () => {
    const { worker } = world();
    const a = worker("a");
    const first = epochOf((await a.acquire([0]))[0]);
    expect(epochOf((await a.acquire([0]))[0])).toBe(first);
    expect(epochOf((await a.renew([0]))[0])).toBe(first);
    await a.release([0]);
    expect(epochOf((await worker("b").acquire([0]))[0])).toBeGreaterThan(first);
  });

  test("a lease that is not renewed goes to the next; renewing it late does not bring it back", async () => {
    const { worker } = world(60, 10);
    const [a, b] = [worker("a"), worker("b")];
    await a.acquire([0]);
    expect(kinds(await b.acquire([0]))).toEqual(["taken"]);
    await sleep(80);
    expect(await a.renew([0])).toEqual([{ kind: "taken", partition: 0, by: "", forMs: 0 }]);
    expect(kinds(await b.acquire([0]))).toEqual(["held"]);
    expect(kinds(await a.renew([0]))).toEqual(["taken"]);
  });

  test("renewing keeps it, many partitions at a time", async () => {
    const { worker } = world(1_500, 10);
    const partitions = Array.from({ length: 64 }, (_, n) => n);
    const a = worker("a");
    await a.acquire(partitions);
    for (let n = 0; n < 6; n++) {
      await sleep(400); // Six of them are longer than a lease, and a busy machine may oversleep one.
      expect(new Set(kinds(await a.renew(partitions)))).toEqual(new Set(["held"]));
    }
    expect(new Set(kinds(await worker("b").acquire(partitions)))).toEqual(new Set(["taken"]));
  });

  test("a worker that takes a lease over fences the leader before at once, before claiming anything", async () => {
    const { worker, storeOf } = world(800, 10);
    await worker("a").acquire([0]);
    const old = storeOf("a");
    const epoch = await old.claim(0);
    await sleep(900); // Longer than the lease, which a busy machine must not outlast before it claims.
    await worker("b").acquire([0]);
    const outcome = await old.commit([{ partition: 0, epoch, mutations: [{ kind: "putDedup", producer: "p", seq: 1 }] }]);
    expect(outcome.kind).toBe("fenced");
    expect(await storeOf("b").fetch(0, [{ kind: "dedup", producer: "p" }])).toMatchObject([{ value: undefined }]);
    await expect(old.fetch(0, [{ kind: "dedup", producer: "p" }])).rejects.toMatchObject({ code: "STO0002" });
  });

  test("only the holder of the lease can claim; a worker that slept through its lease cannot depose its successor", async () => {
    const { worker, storeOf } = world();
    await expect(storeOf("a").claim(0)).rejects.toMatchObject({ code: "STO0002" });
    const [held] = await worker("a").acquire([0]);
    expect(await storeOf("a").claim(0)).toBeGreaterThan(epochOf(held));
    await expect(storeOf("b").claim(0)).rejects.toMatchObject({ code: "STO0002" });
  });

  test("a worker that gives a lease back can write no more, and leases of others stay", async () => {
    const { worker, storeOf } = world();
    const a = worker("a");
    await a.acquire([0]);
    const store = storeOf("a");
    const epoch = await store.claim(0);
    await worker("b").release([0]);
    expect(await a.holders([0])).toMatchObject([{ worker: "a", epoch: expect.any(Number) }]);
    await a.release([0]);
    expect(await a.holders([0])).toEqual([undefined]);
    expect((await store.commit([{ partition: 0, epoch, mutations: [] }])).kind).toBe("fenced");
  });

  test("a lease that its margin would use up is refused", () => {
    expect(() => world(100, 100).worker("a")).toThrow("OPS0001");
  });
});

describe("members in Redis", () => {
  const member = (id: string, draining = false) => ({ id, address: `http://${id}:9070`, draining });

  test("all that beat are on the list, as they described themselves last, in the order of their ids", async () => {
    const list = new RedisMembership(redis, { environment: `members${count++}` });
    expect(await list.beat(member("b"))).toEqual([member("b")]);
    expect(await list.beat(member("a"))).toEqual([member("a"), member("b")]);
    expect(await list.beat(member("b", true))).toEqual([member("a"), member("b", true)]);
  });

  test("a worker that leaves is gone at once, one that falls silent after a while", async () => {
    const environment = `members${count++}`;
    const list = new RedisMembership(redis, { environment, memberMs: 60_000 });
    await list.beat(member("a"));
    await list.beat(member("b"));
    await list.leave("a");
    expect(await list.beat(member("c"))).toEqual([member("b"), member("c")]);
    const memberMs = 500; // Also the time limit of a heartbeat, which a busy machine must meet.
    await sleep(memberMs + 100);
    expect(await new RedisMembership(redis, { environment, memberMs }).beat(member("c"))).toEqual([member("c")]);
  });
});
