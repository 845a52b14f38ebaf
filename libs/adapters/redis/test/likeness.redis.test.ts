/**
 * Whatever is written in whatever order, Redis holds what an ordered key-value store holds: batches collapse differently in the two,
 * and must amount to the same.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { InvocationId } from "@perdure/base";
import { startRedis } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { Invocation, Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { type AsyncPartitionStore, KvPartitionStore, MemoryKeyValue, type PartitionStore, type RowKey } from "@perdure/storage";
import fc from "fast-check";
import type { RedisConnections } from "../src/index.js";
import { COMMITTED, connectTo, lead } from "./connected.js";

const owned = new AsyncDisposableStack();
let redis: RedisConnections;
let partition = 0;
beforeAll(async () => {
  const server = owned.use(await startRedis());
  redis = owned.use(await connectTo(server.port));
});
afterAll(() => owned.disposeAsync());

const STATUSES: readonly Invocation["status"][] = [
  "scheduled",
  "inboxed",
  "invoked",
  "suspended",
  "ready",
  "paused",
  "completed",
];
const IDS = [anId(1), anId(2), anId(3)] as const;

const id = fc.constantFrom(...IDS);
const name = fc.constantFrom("", "a", "a/b", "ä", "\0");
const object = { service: fc.constantFrom("O", "O@s", "P"), key: name };
const seq = fc.constantFrom(0, 1, 9, 10, 2 ** 40);
const bytes = fc.oneof(
  { weight: 9, arbitrary: fc.uint8Array({ maxLength: 5 }) },
  { weight: 1, arbitrary: fc.constantFrom(new Uint8Array(300_000).fill(1), new Uint8Array(300_001).fill(2)) },
);
const timer = fc.record({
  dueAtMs: fc.constantFrom(0, 5, 2 ** 41),
  kind: fc.constantFrom("sleep" as const, "start" as const, "purge" as const, "purgeJournal" as const),
  id,
  sequence: fc.constantFrom(0, 1, 36),
});
const event = fc.record({
  kind: fc.constant("paused" as const),
  afterIndex: fc.constant(0),
  atMs: fc.nat(3),
  error: fc.constant(undefined),
});
const kind = <K extends string>(text: K) => fc.constant(text);

/** Mutations whose meaning does not depend on the stored rows; journals are given by their intended result. */
const mutation: fc.Arbitrary<
  Mutation | { readonly kind: "append" | "drop"; readonly id: InvocationId; readonly bytes: Uint8Array }
> = fc.oneof(
  fc.record({
    kind: kind("putInvocation"),
    invocation: fc
      .tuple(id, fc.constantFrom(...STATUSES))
      .map(([each, status]) => anInvocation(status, { facts: someFacts({ id: each }) })),
  }),
  fc.record({ kind: kind("deleteInvocation"), id }),
  fc.record({ kind: kind("append"), id, bytes }),
  fc.record({ kind: kind("append"), id, bytes }),
  fc.record({ kind: kind("drop"), id, bytes: fc.constant(new Uint8Array(0)) }),
  fc.record({ kind: kind("putEvent"), id, slot: fc.nat(16), event }),
  fc.record({ kind: kind("deleteEvents"), id }),
  fc.record({ kind: kind("putState"), ...object, stateKey: fc.constantFrom("", "k", "kk", "\xff\0"), value: bytes }),
  fc.record({ kind: kind("deleteState"), ...object, stateKey: fc.constantFrom("", "k", "kk", "\xff\0") }),
  fc.record({ kind: kind("putLock"), ...object, lock: fc.record({ holder: id, head: seq, tail: seq }) }),
  fc.record({ kind: kind("deleteLock"), ...object }),
  fc.record({ kind: kind("putInbox"), ...object, seq, entry: fc.record({ kind: kind("invocation"), id }) }),
  fc.record({ kind: kind("deleteInbox"), ...object, seq }),
  fc.record({ kind: kind("putPromise"), ...object, name, promise: fc.constant({ kind: "pending" as const, listeners: [] }) }),
  fc.record({ kind: kind("deletePromise"), ...object, name }),
  fc.record({ kind: kind("putTimer"), timer }),
  fc.record({ kind: kind("deleteTimer"), timer }),
  fc.record({ kind: kind("putOutbox"), message: fc.record({ seq, command: fc.record({ kind: kind("kill"), id }) }) }),
  fc.record({ kind: kind("deleteOutbox"), seq }),
  fc.record({ kind: kind("putDedup"), producer: name, seq }),
);

async function all<T>(rows: AsyncIterable<T>): Promise<string[]> {
  const texts: string[] = [];
  for await (const row of rows) texts.push(text(row));
  return texts.sort(); // Scans have no order between rows.
}

/** Equal for equal rows, quickly for large ones; the encoded facts are an implementation's own. */
function text(value: unknown): string {
  return JSON.stringify(value, (key, each: unknown) => {
    if (key === "bytes") return undefined;
    if (each instanceof Uint8Array) return Buffer.from(each.subarray(0, 8)).toString("hex") + each.length;
    return typeof each === "bigint" ? String(each) : each;
  });
}

type Scanned = PartitionStore | AsyncPartitionStore;

async function everything(store: Scanned, of: number): Promise<Record<string, unknown>> {
  return {
    unfinished: await all(store.unfinished(of, undefined)),
    byStatus: await Promise.all(STATUSES.map((status) => all(store.unfinished(of, status)))),
    takenUp: await all(store.recoverable(of)),
    completed: await all(store.completed(of)),
    state: await all(store.scanState(of, undefined)),
    stateInScopes: await all(store.scanState(of, "O", "inScopes")),
    promises: await all(store.scanPromises(of)),
    locks: await all(store.scanLocks(of)),
    inboxes: await all(store.scanInboxes(of)),
    // Timers of one due time have no order between them.
    precise: (await store.timers(of, "precise", -9, 1_000)).map(text).sort(),
    retention: (await store.timers(of, "retention", -9, 1_000)).map(text).sort(),
    outbox: (await store.outbox(of, -1, 1_000)).map(text),
    // Neither have events of one time.
    events: await Promise.all(IDS.map(async (each) => (await store.events(of, each)).map(text).sort())),
  };
}

test("after any batches both hold the same, and no chunks without a row are left", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(mutation, { maxLength: 25 }), { minLength: 1, maxLength: 5 }), async (batches) => {
      partition++;
      const memory = new KvPartitionStore(new MemoryKeyValue());
      const memoryEpoch = await memory.claim(0);
      let { store, put } = await lead(redis, partition);
      const lengths = new Map<InvocationId, number>(IDS.map((each) => [each, 0]));
      for (const [n, batch] of batches.entries()) {
        const mutations = batch.map((each): Mutation => {
          if (!("bytes" in each)) return each;
          const length = lengths.get(each.id) as number;
          if (each.kind === "drop") {
            lengths.set(each.id, 0);
            return { kind: "deleteJournal", id: each.id, length };
          }
          lengths.set(each.id, length + 1);
          const entry = { type: MessageType.SetState, body: each.bytes, appendedAtMs: length };
          return { kind: "appendEntry", id: each.id, index: length, entry };
        });
        expect(await memory.commit([{ partition: 0, epoch: memoryEpoch, mutations }])).toEqual(COMMITTED);
        expect(await put(...mutations)).toEqual(COMMITTED);
        if (n % 2 === 0) ({ store, put } = await lead(redis, partition)); // Another leader finds the same.
      }
      expect(await everything(store, partition)).toEqual(await everything(memory, 0));
      for (const each of IDS) {
        const length = lengths.get(each) as number;
        expect(text(await store.readJournal(partition, each, length))).toBe(text(await memory.readJournal(0, each, length)));
      }
      const keys: readonly RowKey[] = IDS.map((each) => ({ kind: "invocation", id: each }));
      const rows = (await store.fetch(partition, keys)).map(({ value }) => text(value ?? null));
      expect(rows).toEqual(IDS.map((each) => text(memory.reads.invocation(0, each) ?? null)));
      await expectNoStrayChunks();
    }),
    { numRuns: 150 },
  );
}, 120_000);

/** Every chunk is of a set that is listed, and every listed set has its chunks. */
async function expectNoStrayChunks(): Promise<void> {
  const prefix = `{e:${partition}}:`;
  const listed = (await redis.reads.one(["HGETALL", `${prefix}big`])) as readonly Buffer[];
  const expected: string[] = [];
  for (let i = 0; i < listed.length; i += 2) {
    const [chunks] = JSON.parse(String(listed[i + 1])) as [number];
    for (let n = 0; n < chunks; n++) expected.push(`${prefix}big:${String(listed[i])}:${n}`);
  }
  const present = ((await redis.reads.one(["KEYS", `\\{e:${partition}}:big:*`])) as readonly Buffer[]).map(String);
  expect(present.sort()).toEqual(expected.sort());
}
