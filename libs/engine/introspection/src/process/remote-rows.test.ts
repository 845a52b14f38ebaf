/** How often a statement process requests stored rows of its server. */
import { expect, test } from "@jest/globals";
import { type InvocationId, newInvocationId, partitionOf, utf8 } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import type { Mutation, Target } from "@perdure/state-machine";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { SeededRandom } from "@perdure/testkit";
import { anEngine, NO_SOURCE, rowsOf } from "../../test/querying.js";
import { common, NOW, PARTITIONS } from "../../test/stored-rows.js";
import { ENTRIES_AHEAD } from "../limits.js";
import type { SqlEngine } from "../options.js";
import { Turns } from "../turns.js";
import { decodeFromProcess, decodeToProcess, encodeFromProcess, encodeToProcess } from "./frames.js";
import type { FromProcess } from "./messages.js";
import { PageRequester } from "./page-requester.js";
import { PageServer } from "./page-server.js";
import { openServedStore } from "./remote-rows.js";

const target: Target = {
  scope: undefined,
  service: "Greeter",
  key: undefined,
  handler: "steps",
  serviceType: "service",
  handlerType: "shared",
};

/** A completed invocation whose journal has so many entries, and an engine in another process than the store. */
async function served(length: number) {
  const kv = new MemoryKeyValue();
  const id = newInvocationId(target, NOW, new SeededRandom(11));
  await putCompleted(new KvPartitionStore(kv), id, length);
  return { ...engineOver(kv), id };
}

/** `reads`: what the engine requested of the store. `open`: requests that are not over, now and at most. */
function engineOver(kv: MemoryKeyValue) {
  const reads: string[] = [];
  const open = { now: 0, most: 0 };
  const requester = new PageRequester(send);
  const source = { snapshot: () => kv, [Symbol.asyncDispose]: async () => undefined };
  const server = new PageServer({ openStore: async () => source, reads: new Turns(1, 8) }, (message) => {
    const received = decodeToProcess(encodeToProcess(message));
    if (received.kind === "rows" && received.isLast) open.now--;
    if (received.kind === "rows" || received.kind === "requestFailed") requester.receive(received);
  });
  function send(message: FromProcess): void {
    const received = decodeFromProcess(Buffer.from(encodeFromProcess(message)));
    reads.push(received.kind === "read" ? received.method : received.kind);
    if (received.kind === "read") open.most = Math.max(open.most, ++open.now);
    if (
      received.kind === "requestMore" ||
      received.kind === "endRequest" ||
      received.kind === "read" ||
      received.kind === "snapshot" ||
      received.kind === "release"
    )
      void server.receive(received);
  }
  const store = openServedStore(requester, send).snapshot();
  const engine = anEngine({ ...NO_SOURCE, partitionCount: PARTITIONS, isOneMoment: true, store });
  return { engine, reads, open };
}

async function putCompleted(store: KvPartitionStore, id: InvocationId, length: number): Promise<void> {
  const partition = partitionOf(id, PARTITIONS);
  const epoch = await store.claim(partition);
  const outcome = { kind: "success", value: utf8("1") } as const;
  const mutations: Mutation[] = [
    { kind: "putInvocation", invocation: { ...common(id, target, length), status: "completed", outcome } },
  ];
  for (let index = 0; index < length; index++)
    mutations.push({
      kind: "appendEntry",
      id,
      index,
      entry: { type: MessageType.Run, body: utf8(`${index}`), appendedAtMs: NOW },
    });
  await store.commit([{ partition, epoch, mutations }]);
}

async function lengths(engine: SqlEngine, where: string): Promise<readonly unknown[]> {
  const rows = await rowsOf(engine, `SELECT index, raw_length FROM sys_journal WHERE ${where} ORDER BY index`);
  return rows.map((row) => [row["index"], row["raw_length"]]);
}

const expected = (length: number) => Array.from({ length }, (_, index) => [index, `${index}`.length]);

test.each([1, 3, ENTRIES_AHEAD])("a journal of %d entries is read together with its invocation", async (length) => {
  const { engine, id, reads } = await served(length);
  expect(await lengths(engine, `id = '${id}'`)).toEqual(expected(length));
  expect(reads).toEqual(["snapshot", "getMany"]);
  await engine[Symbol.asyncDispose]();
});

test.each([ENTRIES_AHEAD + 1, 600])("the rest of a journal of %d entries is read after it", async (length) => {
  const { engine, id, reads } = await served(length);
  expect(await lengths(engine, `id = '${id}'`)).toEqual(expected(length));
  expect(reads).toEqual(["snapshot", ...Array.from({ length: 1 + Math.ceil(length / 512) }, () => "getMany")]);
  await engine[Symbol.asyncDispose]();
});

test("an invocation that does not exist has no journal", async () => {
  const { engine, reads } = await served(2);
  const other = newInvocationId(target, NOW, new SeededRandom(12));
  expect(await lengths(engine, `id = '${other}'`)).toEqual([]);
  expect(reads).toEqual(["snapshot", "getMany"]);
  await engine[Symbol.asyncDispose]();
});

/** Completed invocations in partition 0, each with a result of so many bytes. */
async function withCompleted(count: number, bytes: number) {
  const kv = new MemoryKeyValue();
  const store = new KvPartitionStore(kv);
  const random = new SeededRandom(13);
  const epoch = await store.claim(0);
  const outcome = { kind: "success", value: new Uint8Array(bytes) } as const;
  const ids = Array.from({ length: count }, () => newInvocationId(target, NOW, random));
  const mutations = ids.map(
    (id): Mutation => ({ kind: "putInvocation", invocation: { ...common(id, target, 0), status: "completed", outcome } }),
  );
  await store.commit([{ partition: 0, epoch, mutations }]);
  return { ...engineOver(kv), ids };
}

const ALL = "SELECT id FROM sys_invocation_status";

test("small ranges of all partitions are read in one message", async () => {
  const { engine, ids, reads } = await withCompleted(20, 10);
  expect((await rowsOf(engine, ALL)).map((row) => row["id"]).sort()).toEqual([...ids].sort());
  expect(reads).toEqual(["snapshot", "ranges"]);
  await engine[Symbol.asyncDispose]();
});

test("a large range, and those after it, are read one by one", async () => {
  const { engine, ids, reads } = await withCompleted(400, 2000);
  expect((await rowsOf(engine, ALL)).map((row) => row["id"]).sort()).toEqual([...ids].sort());
  const ofPartition0 = 1; // The unfinished, which fitted; the completed and six other ranges did not.
  expect(reads.filter((read) => read === "values")).toHaveLength(2 * PARTITIONS - ofPartition0);
  await engine[Symbol.asyncDispose]();
});

test("a range that is read alone is requested as it is", async () => {
  const { engine, reads } = await withCompleted(1, 10);
  expect(await rowsOf(engine, `${ALL} WHERE partition_key = 0 AND status = 'completed'`)).toHaveLength(0);
  expect(reads).toEqual(["snapshot", "values"]);
  await engine[Symbol.asyncDispose]();
});

test("a statement that reads nothing of the store takes no snapshot", async () => {
  const { engine, reads } = await withCompleted(1, 10);
  expect(await rowsOf(engine, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(reads).toEqual([]);
  await engine[Symbol.asyncDispose]();
});

/** State of so many bytes under one key in each partition. */
async function withState(bytes: number) {
  const kv = new MemoryKeyValue();
  const store = new KvPartitionStore(kv);
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const put = { kind: "putState", service: "Counter", key: "k", stateKey: "n", value: new Uint8Array(bytes) } as const;
    await store.commit([{ partition, epoch: await store.claim(partition), mutations: [put] }]);
  }
  return engineOver(kv);
}

test.each([
  "state",
  "state WHERE service_name = 'Counter'",
  "sys_promise",
  "sys_locks",
  "sys_inbox",
  "sys_keyed_service_status",
  "sys_state_expiry",
  "sys_throttle",
])("%s is read in one message when it is small", async (table) => {
  const { engine, reads } = await withState(10);
  const [row] = await rowsOf(engine, `SELECT count(*) AS n FROM ${table}`);
  expect(row).toEqual({ n: table.startsWith("state") ? PARTITIONS : 0 });
  expect(reads).toEqual(["snapshot", "ranges"]);
  await engine[Symbol.asyncDispose]();
});

test("ranges with large rows are read one after the other", async () => {
  const { engine, reads, open } = await withState(300_000);
  expect(await rowsOf(engine, "SELECT value_length FROM state")).toHaveLength(PARTITIONS);
  expect(reads.filter((read) => read === "scan")).toHaveLength(PARTITIONS);
  expect(open).toEqual({ now: 0, most: 1 });
  await engine[Symbol.asyncDispose]();
});

test("a small range before a large one is not read again", async () => {
  const kv = new MemoryKeyValue();
  const store = new KvPartitionStore(kv);
  for (const [partition, bytes] of [10, 300_000, 10].entries()) {
    const put = { kind: "putState", service: "Counter", key: "k", stateKey: "n", value: new Uint8Array(bytes) } as const;
    await store.commit([{ partition, epoch: await store.claim(partition), mutations: [put] }]);
  }
  const { engine, reads } = engineOver(kv);
  const rows = await rowsOf(engine, "SELECT value_length FROM state");
  expect(rows.map((row) => row["value_length"]).sort()).toEqual([10, 10, 300_000]);
  expect(reads.filter((read) => read === "scan")).toHaveLength(PARTITIONS - 1);
  await engine[Symbol.asyncDispose]();
});
