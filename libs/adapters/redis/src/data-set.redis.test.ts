/** Marks of data sets on a real Redis: what leads, claims and commits while they are right, missing or different. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type PerdureError, systemClock } from "@perdure/base";
import { type RedisServer, startRedis, startReplicatedRedis } from "@perdure/servers";
import type { Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { newPopulation } from "@perdure/storage";
import { COMMITTED, connectTo } from "../test/connected.js";
import { placeMarks, type RedisConnections, RedisLeases, RedisPartitionStore, readMarks, storedPartitionCount } from "./index.js";

const ENVIRONMENT = "marked";
const [MARK, OTHER] = ["a".repeat(32), "b".repeat(32)];
const id = anId(1);
const put = (seq: number) => ({ kind: "putDedup", producer: "p", seq }) as const;

const owned = new AsyncDisposableStack();
let server: RedisServer;
let redis: RedisConnections;
beforeAll(async () => {
  server = owned.use(await startRedis());
  redis = owned.use(await connectTo(server.port));
});
beforeEach(async () => {
  await server.request("FLUSHALL");
});
afterAll(() => owned.disposeAsync());

/** A worker that expects a data set, with the marks that were reported to it. */
function worker(name: string, id = MARK, connections = redis) {
  const recordedMarks: (readonly (string | undefined)[])[] = [];
  const dataSet = { id, onMarks: (marks: readonly (string | undefined)[]) => void recordedMarks.push(marks) };
  const leases = new RedisLeases(connections, { environment: ENVIRONMENT, worker: name, leaseMs: 60_000, dataSet }, systemClock);
  const store = new RedisPartitionStore(connections, { environment: ENVIRONMENT, holder: name, dataSet });
  return { leases, store, found: recordedMarks };
}

/** Its one partition is led. */
async function leader(name: string, id = MARK, connections = redis) {
  const one = worker(name, id, connections);
  expect((await one.leases.acquire([0]))[0]?.kind).toBe("held");
  const epoch = await one.store.claim(0);
  return { ...one, epoch, put: (seq: number) => one.store.commit([{ partition: 0, epoch, mutations: [put(seq)] }]) };
}

async function all<T>(rows: AsyncIterable<T>): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const row of rows) collected.push(row);
  return collected;
}

/** Everything that reads a partition. */
function waysToRead(): readonly (readonly [what: string, read: (store: RedisPartitionStore) => Promise<unknown>])[] {
  return [
    ["one row", (store) => store.fetch(0, [{ kind: "dedup", producer: "p" }])],
    [
      "two rows",
      (store) =>
        store.fetch(0, [
          { kind: "dedup", producer: "p" },
          { kind: "invocation", id },
        ]),
    ],
    ["a journal among rows", (store) => store.fetch(0, [{ kind: "journal", id }])],
    ["a journal", (store) => store.readJournal(0, id, 1)],
    ["state", (store) => store.stateOf(0, "s", "k")],
    ["promises", (store) => store.promisesOf(0, "s", "k")],
    ["timers", (store) => store.timers(0, "precise", 0, 1)],
    ["the outbox", (store) => store.outbox(0, -1, 1)],
    ["events", (store) => store.events(0, id)],
    ["flow control", (store) => store.flow(0)],
    ["what a new leader takes up", (store) => all(store.recoverable(0))],
    ["what it counts then", (store) => all(store.recoverable(0, newPopulation()))],
    ["unfinished invocations", (store) => all(store.unfinished(0, undefined))],
    ["suspended invocations", (store) => all(store.unfinished(0, "suspended"))],
    ["completed invocations", (store) => all(store.completed(0))],
    ["rows of invocations", (store) => all(store.invocationRows(0, "unfinished"))],
    ["the row of an invocation", async (store) => [await store.invocationRow(0, id)]],
    ["what an archive takes", (store) => store.completedBefore(0, 1, 1)],
    ["all state", (store) => all(store.scanState(0, undefined))],
    ["all promises", (store) => all(store.scanPromises(0))],
    ["all locks", (store) => all(store.scanLocks(0))],
    ["all inboxes", (store) => all(store.scanInboxes(0))],
  ];
}

const keys = async (): Promise<readonly unknown[]> => (await server.request("KEYS", "*")) as readonly unknown[];

describe("marks", () => {
  test("are placed on partitions that have none, once, and leave everything else as it is", async () => {
    const old = new RedisPartitionStore(redis, { environment: ENVIRONMENT });
    const epoch = await old.claim(0);
    expect(await old.commit([{ partition: 0, epoch, mutations: [put(1)] }])).toEqual(COMMITTED);
    expect(await readMarks(redis, ENVIRONMENT, 2)).toEqual([undefined, undefined]);
    for (let n = 0; n < 2; n++)
      expect(await placeMarks(redis, ENVIRONMENT, 2, MARK)).toEqual({ kind: "placed", epochMax: epoch });
    expect(await readMarks(redis, ENVIRONMENT, 2)).toEqual([MARK, MARK]);
    // A worker of the version before continues, whatever the mark is.
    expect(await old.commit([{ partition: 0, epoch, mutations: [put(2)] }])).toEqual(COMMITTED);
    expect(await placeMarks(redis, ENVIRONMENT, 2, OTHER)).toEqual({ kind: "foreign", mark: MARK });
    expect(await readMarks(redis, ENVIRONMENT, 2)).toEqual([MARK, MARK]);
  });

  test("that replace others put every epoch beyond all of before, once, and take leases from their holders", async () => {
    await placeMarks(redis, ENVIRONMENT, 1, MARK);
    const before = await leader("old");
    expect(await before.put(1)).toEqual(COMMITTED);
    const replaces = { epochBase: 7 * 2 ** 32, instance: "second" };
    const placed = await placeMarks(redis, ENVIRONMENT, 1, OTHER, replaces);
    expect(placed).toEqual({ kind: "placed", epochMax: 8 * 2 ** 32 });
    expect(await placeMarks(redis, ENVIRONMENT, 1, OTHER, replaces)).toEqual(placed);
    expect(await before.put(2)).toMatchObject({ kind: "fenced" });
    expect((await before.leases.renew([0]))[0]).toEqual({ kind: "foreign", partition: 0, mark: OTHER });
    expect((await leader("new", OTHER)).epoch).toBeGreaterThan(8 * 2 ** 32);
  });
});

describe("a partition without the expected mark", () => {
  test("of an empty Redis is not leased, claimed or written, and stays empty", async () => {
    await placeMarks(redis, ENVIRONMENT, 1, MARK);
    const before = await leader("a");
    expect(await before.put(1)).toEqual(COMMITTED);
    await server.request("FLUSHALL");
    const foreign = { kind: "foreign", partition: 0, mark: undefined };
    expect(await before.leases.renew([0])).toEqual([foreign]);
    expect(await before.leases.acquire([0])).toEqual([foreign]);
    expect(await before.leases.holders([0])).toEqual([undefined]);
    expect(await before.put(2)).toMatchObject({ kind: "fenced" });
    await expect(before.store.claim(0)).rejects.toMatchObject({ code: "STO0005" });
    await before.leases.release([0]);
    expect(before.found.slice(-3)).toEqual([[undefined], [undefined], [undefined]]);
    expect(await keys()).toEqual([]);
    expect(await storedPartitionCount(redis, ENVIRONMENT)).toBe(undefined);
    expect(await keys()).toEqual([]);
  });

  test("of an empty Redis gets no chunk of a large payload either", async () => {
    await placeMarks(redis, ENVIRONMENT, 1, MARK);
    const before = await leader("a");
    const large = { kind: "putState", service: "s", key: "k", stateKey: "x", value: new Uint8Array(600 * 1024) } as const;
    const putLarge = () => before.store.commit([{ partition: 0, epoch: before.epoch, mutations: [large] }]);
    expect(await putLarge()).toEqual(COMMITTED);
    await server.request("FLUSHALL");
    expect(await putLarge()).toMatchObject({ kind: "fenced", by: 0 });
    expect(await keys()).toEqual([]);
    await placeMarks(redis, ENVIRONMENT, 1, OTHER);
    const marked = await keys();
    expect(await putLarge()).toMatchObject({ kind: "fenced" });
    expect(await keys()).toEqual(marked);
  });

  test("of an empty Redis is not read as if nothing had ever been there", async () => {
    await placeMarks(redis, ENVIRONMENT, 1, MARK);
    const { store, put: write } = await leader("a");
    const dedup = { kind: "dedup", producer: "p" } as const;
    const state = { kind: "state", service: "s", key: "k", stateKey: "x" } as const;
    await write(7);
    expect(await store.fetch(0, [dedup])).toEqual([{ ...dedup, value: 7 }]);
    expect(await store.fetch(0, [dedup, state])).toHaveLength(2);
    await server.request("FLUSHALL");
    await expect(store.fetch(0, [dedup])).rejects.toMatchObject({ code: "STO0005" });
    await expect(store.fetch(0, [dedup, state])).rejects.toMatchObject({ code: "STO0005" });
    await placeMarks(redis, ENVIRONMENT, 1, OTHER);
    await expect(store.fetch(0, [dedup])).rejects.toMatchObject({ code: "STO0005" });
    // Without a leadership any data set may be read, as introspection does.
    const reader = new RedisPartitionStore(redis, { environment: ENVIRONMENT });
    expect(await reader.fetch(0, [dedup])).toEqual([{ ...dedup, value: undefined }]);
  });

  test("is not read by its leader in any way, and by others as it is", async () => {
    await placeMarks(redis, ENVIRONMENT, 1, MARK);
    const { store, epoch } = await leader("a");
    const value = new Uint8Array(600 * 1024).fill(7);
    const mutations: Mutation[] = [
      { kind: "putInvocation", invocation: anInvocation("invoked", { facts: someFacts({ id }) }) },
      { kind: "appendEntry", id, index: 0, entry: { type: 0x0400, body: value, appendedAtMs: 1 } },
      { kind: "putState", service: "s", key: "k", stateKey: "x", value },
    ];
    expect(await store.commit([{ partition: 0, epoch, mutations }])).toEqual(COMMITTED);
    expect((await store.readJournal(0, id, 1))[0]?.body).toEqual(value);
    expect(await store.stateOf(0, "s", "k")).toEqual(new Map([["x", value]]));
    expect(await all(store.recoverable(0))).toHaveLength(1);

    await server.request("FLUSHALL");
    for (const [what, read] of waysToRead()) {
      const refused = await read(store).then(
        () => `${what} was answered`,
        (cause: unknown) => (cause as PerdureError).code,
      );
      expect(refused).toBe("STO0005");
    }
    const reader = new RedisPartitionStore(redis, { environment: ENVIRONMENT });
    for (const [, read] of waysToRead()) await expect(read(reader)).resolves.toBeDefined();
  });

  test("of a newer leader is not read by the one before, and without marks an empty one neither", async () => {
    await placeMarks(redis, ENVIRONMENT, 1, MARK);
    const before = await leader("a");
    await before.leases.release([0]);
    const after = await leader("b");
    for (const [, read] of waysToRead()) await expect(read(before.store)).rejects.toMatchObject({ code: "STO0002" });
    for (const [, read] of waysToRead()) await expect(read(after.store)).resolves.toBeDefined();

    const unmarked = new RedisPartitionStore(redis, { environment: ENVIRONMENT });
    await unmarked.claim(0);
    await server.request("FLUSHALL");
    for (const [, read] of waysToRead()) await expect(read(unmarked)).rejects.toMatchObject({ code: "STO0002" });
  });

  test("of another data set is not written, even when epoch and batch happen to be the next ones", async () => {
    await placeMarks(redis, ENVIRONMENT, 1, MARK);
    const before = await leader("a");
    await server.request("FLUSHALL");
    await placeMarks(redis, ENVIRONMENT, 1, OTHER);
    const other = await leader("b", OTHER);
    expect(other.epoch).toBe(before.epoch);
    expect(await before.put(1)).toMatchObject({ kind: "fenced" });
    expect(await before.leases.acquire([0])).toEqual([{ kind: "foreign", partition: 0, mark: OTHER }]);
    expect(await other.put(1)).toEqual(COMMITTED);
  });

  test("is found with every poll, beside those that are right", async () => {
    await placeMarks(redis, ENVIRONMENT, 2, MARK);
    const { leases, found: recordedMarks } = worker("a");
    expect((await leases.acquire([0, 1])).map(({ kind }) => kind)).toEqual(["held", "held"]);
    await server.request("HDEL", `{${ENVIRONMENT}:1}:epoch`, "mark");
    expect((await leases.holders([0, 1])).map((holder) => holder?.worker)).toEqual(["a", "a"]);
    expect(recordedMarks.at(-1)).toEqual([MARK, undefined]);
    expect((await leases.renew([0, 1])).map(({ kind }) => kind)).toEqual(["held", "foreign"]);
  });
});

test("a replica that never had the data and is promoted is refused", async () => {
  await using replicated = await startReplicatedRedis(1);
  const replica = replicated.replicas[0] as RedisServer;
  await using toPrimary = await connectTo(replicated.primary.port);
  await placeMarks(toPrimary, ENVIRONMENT, 1, MARK);
  const before = await leader("a", MARK, toPrimary);
  expect(await before.put(1)).toEqual(COMMITTED);
  // The state of a replica whose volume was lost and whose first synchronisation did not end.
  await replica.request("REPLICAOF", "NO", "ONE");
  await replica.request("FLUSHALL");
  await using toReplica = await connectTo(replica.port);
  const after = worker("b", MARK, toReplica);
  expect(await after.leases.acquire([0])).toEqual([{ kind: "foreign", partition: 0, mark: undefined }]);
  expect((await replica.request("KEYS", "*")) as readonly unknown[]).toEqual([]);
});
