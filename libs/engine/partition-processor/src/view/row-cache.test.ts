import { describe, expect, test } from "@jest/globals";
import type { Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import type { BatchedReads, FetchedRow, RowKey } from "@perdure/storage";
import { CACHED_ROWS_MAX } from "../limits.js";
import { MissingRow, RowCache } from "./row-cache.js";

const ID = anId(1);
const invocation = (status: "scheduled" | "paused") => anInvocation(status as "paused", { facts: someFacts({ id: ID }) });
const put = (status: "scheduled" | "paused"): Mutation => ({ kind: "putInvocation", invocation: invocation(status) });
const KEY: RowKey = { kind: "invocation", id: ID };

/** A store that responds when the test lets it, with the rows at the time of the request. */
class SlowStore implements BatchedReads {
  stored: unknown = invocation("scheduled");
  readonly #pendingFetches: (() => void)[] = [];
  fetch(_partition: number, keys: readonly RowKey[]): Promise<readonly FetchedRow[]> {
    const rows = keys.map((key) => ({ ...key, value: this.stored }) as FetchedRow);
    return new Promise((resolve) => this.#pendingFetches.push(() => resolve(rows)));
  }
  answer(): void {
    for (const answer of this.#pendingFetches.splice(0)) answer();
  }
}

function aCache() {
  const store = new SlowStore();
  return { store, cache: new RowCache(0, store) };
}

describe("rows of a store behind a network", () => {
  test("are missing until they are fetched, and absent rows are cached as absent", async () => {
    const { cache, store } = aCache();
    expect(() => cache.invocation(0, ID)).toThrow(MissingRow);
    store.stored = undefined;
    const fetched = cache.fetch([KEY]);
    store.answer();
    await fetched;
    expect(cache.invocation(0, ID)).toBeUndefined();
  });

  test("are as new as the last durable commit", async () => {
    const { cache, store } = aCache();
    const fetched = cache.fetch([KEY]);
    store.answer();
    await fetched;
    cache.applyDurable([put("paused")]);
    expect(cache.invocation(0, ID)?.status).toBe("paused");
    cache.applyDurable([{ kind: "deleteInvocation", id: ID }]);
    expect(cache.invocation(0, ID)).toBeUndefined();
  });

  test("are not replaced by older ones of a fetch that was under way when they were written", async () => {
    const { cache, store } = aCache();
    const fetched = cache.fetch([KEY]);
    cache.applyDurable([put("paused")]);
    store.answer();
    await fetched;
    expect(cache.invocation(0, ID)?.status).toBe("paused");
  });

  test("are dropped when many others were used since, and stay as long as they are used", () => {
    const { cache } = aCache();
    const putOf = (n: number): Mutation => ({
      kind: "putInvocation",
      invocation: anInvocation("paused", { facts: someFacts({ id: anId(n) }) }),
    });
    cache.applyDurable([putOf(1), putOf(2)]);
    let kept = 0;
    for (let n = 3; n < 5 * CACHED_ROWS_MAX; n++) {
      cache.applyDurable([putOf(n)]);
      expect(cache.invocation(0, anId(2))?.facts.id).toBe(anId(2));
      kept = Math.max(kept, n);
    }
    expect(() => cache.invocation(0, anId(1))).toThrow(MissingRow);
    const present = Array.from({ length: kept }, (_, n) => cache.has({ kind: "invocation", id: anId(n + 1) })).filter(Boolean);
    expect(present.length).toBeLessThanOrEqual(CACHED_ROWS_MAX + 2);
    expect(present.length).toBeGreaterThanOrEqual(CACHED_ROWS_MAX / 2);
    expect(cache.invocation(0, anId(kept))?.facts.id).toBe(anId(kept));
  });

  test("that were written have the new value in whichever generation they were", () => {
    const { cache } = aCache();
    const others = Array.from(
      { length: CACHED_ROWS_MAX / 2 + 1 },
      (_, n): Mutation => ({ kind: "putDedup", producer: `p${n}`, seq: n }),
    );
    cache.applyDurable([put("scheduled")]);
    cache.applyDurable(others); // The cached row is outdated now.
    cache.applyDurable([put("paused")]);
    expect(cache.invocation(0, ID)?.status).toBe("paused");
    cache.applyDurable(others);
    expect(cache.invocation(0, ID)?.status).toBe("paused");
  });

  test("of a journal, a state or promises come as a whole and are read one by one", async () => {
    const entry = { type: 1, body: new Uint8Array([1]), appendedAtMs: 5 };
    const rows: FetchedRow[] = [
      { kind: "journal", id: ID, value: [entry] },
      { kind: "stateOf", service: "S", key: "k", value: new Map([["a", new Uint8Array([7])]]) },
      { kind: "promisesOf", service: "S", key: "k", value: new Map([["p", { kind: "pending", listeners: [] }]]) },
    ];
    const cache = new RowCache(0, { fetch: async () => rows });
    await cache.fetch(rows);
    expect(cache.entry(0, ID, 0)).toBe(entry);
    expect(cache.state(0, "S", "k", "a")).toEqual(new Uint8Array([7]));
    expect(cache.promise(0, "S", "k", "p")).toEqual({ kind: "pending", listeners: [] });
    cache.applyDurable([
      { kind: "deleteJournal", id: ID, length: 1 },
      { kind: "putState", service: "S", key: "k", stateKey: "a", value: new Uint8Array([8]) },
      { kind: "deletePromise", service: "S", key: "k", name: "p" },
    ]);
    expect([cache.entry(0, ID, 0), cache.state(0, "S", "k", "a"), cache.promise(0, "S", "k", "p")]).toEqual([
      undefined,
      new Uint8Array([8]),
      undefined,
    ]);
  });

  test("that were never fetched are not kept when they are written, except those read again soon", () => {
    const { cache } = aCache();
    cache.applyDurable([
      put("paused"),
      { kind: "putState", service: "S", key: "k", stateKey: "a", value: new Uint8Array([8]) },
      { kind: "putLock", service: "S", key: "k", lock: { holder: ID, head: 0, tail: 0 } },
    ]);
    expect(cache.invocation(0, ID)?.status).toBe("paused");
    expect(cache.lock(0, "S", "k")?.holder).toBe(ID);
    expect(() => cache.state(0, "S", "k", "a")).toThrow(MissingRow);
  });
});
