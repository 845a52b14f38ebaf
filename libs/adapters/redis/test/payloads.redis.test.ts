/** Payloads beyond what a script should carry, batches that do not fit what is stored, and rows read in batches. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { type RedisServer, startRedis } from "@perdure/servers";
import { MessageType } from "@perdure/service-protocol";
import type { JournalEntry, Mutation, WorkflowPromise } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import type { RedisConnections } from "../src/index.js";
import { CHUNK_BYTES, INLINE_BYTES_MAX } from "../src/limits.js";
import { COMMITTED, connectTo, ENVIRONMENT, lead } from "./connected.js";

const owned = new AsyncDisposableStack();
let server: RedisServer;
let redis: RedisConnections;
let partition = 0;
beforeAll(async () => {
  server = owned.use(await startRedis());
  redis = owned.use(await connectTo(server.port));
});
afterAll(() => owned.disposeAsync());
/** A partition of its own for each test. */
const leader = () => lead(redis, ++partition);

const MIB = 1024 * 1024;
/** Access to a global is slow in the test environment. */
const { imul } = Math;
/** Bytes that differ from place to place, so that a chunk out of order would show. */
function payload(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let word = seed * 2_654_435_761;
  for (let i = 0; i < length; i++) {
    word = (imul(word, 1_664_525) + 1_013_904_223) | 0;
    bytes[i] = word >>> 24;
  }
  return bytes;
}
/** Whatever is large within a row. */
function largeBytes(value: unknown): Uint8Array[] {
  if (value instanceof Uint8Array) return value.length > 100_000 ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(largeBytes) : [];
}

const id = anId(1);
const entryOf = (body: Uint8Array): JournalEntry => ({ type: MessageType.Input, body, appendedAtMs: 5 });
const append = (index: number, body: Uint8Array): Mutation => ({ kind: "appendEntry", id, index, entry: entryOf(body) });
const putState = (value: Uint8Array, stateKey = "s"): Mutation => ({ kind: "putState", service: "O", key: "k", stateKey, value });
const state = { kind: "state", service: "O", key: "k", stateKey: "s" } as const;

/** Chunk keys in Redis of the present partition. */
async function chunkKeys(): Promise<string[]> {
  return ((await server.request("KEYS", `{${ENVIRONMENT}:${partition}}:big*`)) as string[]).filter((key) =>
    key.includes(":big:"),
  );
}

describe("large payloads", () => {
  test.each([INLINE_BYTES_MAX - 1, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, CHUNK_BYTES * 2, 5 * MIB + 3])(
    "%i bytes of state come back as they were, together and alone",
    async (length) => {
      const { put, fetch, store } = await leader();
      const value = payload(length);
      expect(await put(putState(value), putState(utf8("small"), "t"))).toEqual(COMMITTED);
      expect(Buffer.compare((await fetch(state))[0] as Uint8Array, value)).toBe(0);
      const whole = await store.stateOf(partition, "O", "k");
      expect([...whole.keys()]).toEqual(["s", "t"]);
      expect(Buffer.compare(whole.get("s") as Uint8Array, value)).toBe(0);
    },
  );

  test("every kind of row may be large", async () => {
    const { put, fetch, store } = await leader();
    const big = payload(700_000);
    const promise: WorkflowPromise = { kind: "completed", outcome: { kind: "success", value: big } };
    const completed = anInvocation("completed", { facts: someFacts({ id: anId(2) }) });
    await put(
      append(0, utf8("small")),
      append(1, big),
      append(2, utf8("small too")),
      { kind: "putPromise", service: "W", key: "k", name: "p", promise },
      {
        kind: "putOutbox",
        message: { seq: 7, command: { kind: "invoke", id, facts: someFacts(), input: big, sink: undefined } },
      },
      {
        kind: "putInbox",
        service: "O",
        key: "k",
        seq: 3,
        entry: { kind: "stateMutation", expectedVersion: undefined, entries: [{ key: "a", value: big }] },
      },
      { kind: "putInvocation", invocation: { ...completed, outcome: { kind: "success", value: big } } as typeof completed },
    );
    expect((await store.readJournal(partition, id, 3)).map(({ body }) => body.length)).toEqual([5, 700_000, 9]);
    const rows = await fetch(
      { kind: "entry", id, index: 1 },
      { kind: "promise", service: "W", key: "k", name: "p" },
      { kind: "inbox", service: "O", key: "k", seq: 3 },
      { kind: "invocation", id: anId(2) },
    );
    const read = [...rows, ...(await store.outbox(partition, -1, 10))].flatMap(largeBytes);
    expect(read).toHaveLength(5);
    for (const bytes of read) expect(Buffer.compare(bytes, big)).toBe(0); // Comparing with `toEqual` takes seconds.
  });

  test("replacing or deleting a row deletes its chunks, also for a leader that did not write them", async () => {
    const first = await leader();
    await first.put(putState(payload(MIB)), append(0, payload(MIB)), append(1, payload(MIB, 2)));
    expect(await chunkKeys()).toHaveLength(4 + 5 + 5); // An entry is a little more than its payload.
    await first.put(putState(payload(MIB, 3)));
    expect(await chunkKeys()).toHaveLength(4 + 5 + 5);
    const second = await lead(redis, partition);
    await second.put(putState(utf8("small")));
    expect(await chunkKeys()).toHaveLength(5 + 5);
    await second.put({ kind: "deleteJournal", id, length: 2 });
    expect(await chunkKeys()).toEqual([]);
    expect(await server.request("EXISTS", `{${ENVIRONMENT}:${partition}}:big`)).toBe(0);
  });

  test("an invocation that completes with a large outcome leaves nothing behind when it is deleted", async () => {
    const { put, store } = await leader();
    const outcome = { kind: "success", value: payload(MIB) } as const;
    await put({ kind: "putInvocation", invocation: anInvocation("invoked") });
    await put({ kind: "putInvocation", invocation: { ...anInvocation("completed"), outcome } as never });
    expect(await chunkKeys()).toHaveLength(5);
    expect(await store.completedBefore(partition, Number.MAX_SAFE_INTEGER, 10)).toEqual([anInvocation("completed").facts.id]);
    await put({ kind: "deleteInvocation", id: anInvocation("completed").facts.id });
    expect(await chunkKeys()).toEqual([]);
    expect(await store.completedBefore(partition, Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  test("a fenced leader writes no chunks", async () => {
    const old = await leader();
    await lead(await owned.use(await connectTo(server.port)), partition);
    expect((await old.put(putState(payload(MIB)))).kind).toBe("fenced");
    expect(await chunkKeys()).toEqual([]);
  });

  test("chunks whose commit did not come about expire", async () => {
    const { put } = await leader();
    await expect(put(putState(payload(MIB)), append(7, utf8("no entry is before it")))).rejects.toMatchObject({
      code: "STO0003",
    });
    const keys = await chunkKeys();
    expect(keys).toHaveLength(4);
    for (const key of keys) expect(await server.request("PTTL", key)).toBeGreaterThan(60_000);
  });

  test("chunks that last do not expire", async () => {
    const { put } = await leader();
    await put(putState(payload(MIB)));
    for (const key of await chunkKeys()) expect(await server.request("PTTL", key)).toBe(-1);
  });

  test("a value that is replaced while it is read is read old or new, never torn", async () => {
    const { put, fetch } = await leader();
    const values = [payload(5 * MIB, 1), payload(5 * MIB, 2)] as const;
    await put(putState(values[0]));
    let reading = true;
    const writing = (async () => {
      for (let n = 1; reading; n++) await put(putState(values[n % 2] as Uint8Array));
    })();
    for (let n = 0; n < 10; n++) {
      const [value] = await fetch(state);
      expect(values.some((each) => Buffer.compare(each, value as Uint8Array) === 0)).toBe(true);
    }
    reading = false;
    await writing;
  });

  test("a batch of many middling payloads goes in chunks too, and no script holds Redis up", async () => {
    const { put, store } = await leader();
    await server.request("CONFIG", "SET", "slowlog-log-slower-than", "20000");
    await server.request("SLOWLOG", "RESET");
    const mutations = Array.from({ length: 300 }, (_, n) => putState(payload(64 * 1024, n), `s${n}`));
    expect(await put(...mutations)).toEqual(COMMITTED);
    expect(await server.request("SLOWLOG", "GET")).toEqual([]);
    const whole = await store.stateOf(partition, "O", "k");
    expect(whole.size).toBe(300);
    expect(Buffer.compare(whole.get("s299") as Uint8Array, payload(64 * 1024, 299))).toBe(0);
  });
});

describe("a batch that does not fit what is stored", () => {
  const cases: readonly (readonly [what: string, index: number])[] = [
    ["repeats an entry of another batch", 1],
    ["repeats the first entry", 0],
    ["leaves a hole in a journal", 3],
  ];
  test.each(cases)("that %s is refused whole as damage, and the leadership is over", async (_, index) => {
    const { put, fetch } = await leader();
    await put(append(0, utf8("a")), append(1, utf8("b")));
    await expect(put(putState(utf8("v")), append(index, utf8("c")))).rejects.toMatchObject({ code: "STO0003" });
    expect(await fetch(state, { kind: "journal", id })).toEqual([undefined, [entryOf(utf8("a")), entryOf(utf8("b"))]]);
    await expect(put(putState(utf8("v")))).rejects.toMatchObject({ code: "STO0003" });
    const next = await lead(redis, partition);
    expect(await next.put(append(2, utf8("c")))).toEqual(COMMITTED);
    expect(await next.store.readJournal(partition, id, 3)).toHaveLength(3);
  });

  test("a journal that is deleted and begun anew in one batch fits", async () => {
    const { put, store } = await leader();
    await put(append(0, utf8("a")), append(1, utf8("b")));
    expect(await put({ kind: "deleteJournal", id, length: 2 }, append(0, utf8("c")))).toEqual(COMMITTED);
    expect(await store.readJournal(partition, id, 1)).toEqual([entryOf(utf8("c"))]);
    expect(await put(append(1, utf8("d")))).toEqual(COMMITTED);
  });

  test("a partition of another format is not touched", async () => {
    await leader();
    await server.request("HSET", `{${ENVIRONMENT}:${partition}}:epoch`, "format", "99");
    await expect(lead(redis, partition)).rejects.toMatchObject({ code: "STO0003" });
  });
});

describe("commits of several partitions at once", () => {
  test("are each written by themselves; one that is fenced reports so", async () => {
    const [a, b] = [await lead(redis, 900), await lead(redis, 901)];
    const { store } = a;
    const bEpoch = await store.claim(901);
    const batch = (partition: number, epoch: number) => ({ partition, epoch, mutations: [putState(utf8("v"))] });
    expect(await store.commit([batch(900, a.epoch), batch(901, bEpoch)])).toEqual(COMMITTED);
    expect(await b.store.commit([batch(901, b.epoch)])).toEqual({ kind: "fenced", partition: 901, by: bEpoch });
    const young = await lead(redis, 901);
    const mixed = await store.commit([batch(900, a.epoch), batch(901, bEpoch)]);
    expect(mixed).toEqual({ kind: "fenced", partition: 901, by: young.epoch });
  });

  test("and many of one partition follow each other in the order they were given", async () => {
    const { put, fetch } = await leader();
    await Promise.all(Array.from({ length: 10 }, (_, n) => put(append(n, utf8(`${n}`)))));
    expect((await fetch({ kind: "journal", id }))[0]).toHaveLength(10);
  });
});

describe("rows read in batches", () => {
  test("come in the order of their keys, absent ones too, in one round trip", async () => {
    const { put, store } = await leader();
    const lock = { holder: id, head: 0, tail: 1 };
    await put(
      { kind: "putInvocation", invocation: anInvocation("suspended") },
      append(0, utf8("in")),
      { kind: "putLock", service: "O", key: "k", lock },
      { kind: "putDedup", producer: "p", seq: 4 },
      { kind: "putTimer", timer: { dueAtMs: 5, kind: "sleep", id, sequence: 1 } },
      { kind: "putPromise", service: "W", key: "k", name: "p", promise: { kind: "pending", listeners: [] } },
      putState(utf8("v")),
    );
    const callsBefore = await exchanges();
    const rows = await store.fetch(partition, [
      { kind: "lock", service: "O", key: "other" },
      { kind: "lock", service: "O", key: "k" },
      { kind: "invocation", id: anId(9) },
      { kind: "invocation", id: anInvocation("suspended").facts.id },
      { kind: "entry", id, index: 0 },
      { kind: "entry", id, index: 1 },
      { kind: "dedup", producer: "p" },
      { kind: "hasTimer", timer: { dueAtMs: 5, kind: "sleep", id, sequence: 1 } },
      { kind: "hasTimer", timer: { dueAtMs: 6, kind: "sleep", id, sequence: 1 } },
      { kind: "promisesOf", service: "W", key: "k" },
      { kind: "stateOf", service: "O", key: "none" },
      state,
    ]);
    expect((await exchanges()) - callsBefore).toBe(1);
    expect(rows.map(({ value }) => value)).toEqual([
      undefined,
      lock,
      undefined,
      expect.objectContaining({ status: "suspended" }),
      entryOf(utf8("in")),
      undefined,
      4,
      true,
      false,
      new Map([["p", { kind: "pending", listeners: [] }]]),
      new Map(),
      utf8("v"),
    ]);
    expect(await store.fetch(partition, [])).toEqual([]);
  });

  /** Transactions carried out so far. */
  async function exchanges(): Promise<number> {
    return Number(/cmdstat_exec:calls=(\d+)/.exec(String(await server.request("INFO", "commandstats")))?.[1] ?? 0);
  }
});
