/** The contract of every `MetadataStore`. The test file of each driver is one call to this. */
import { describe, expect, test } from "@jest/globals";
import type { DocumentWrite, Json, MetadataStore } from "../store.js";

/**
 * `open` returns a store over the same data each time it is called within one test, so that closing and opening again is a restart;
 * `reset` empties that data between tests.
 */
export function describeMetadataStore(driver: string, reset: () => Promise<void>, open: () => Promise<MetadataStore>): void {
  describe(`MetadataStore on ${driver}`, () => {
    const fresh = async () => {
      await reset();
      return open();
    };

    test("a document is read as it was put, copied, under its own version", async () => {
      await using store = await fresh();
      const value = { list: [1, "zwei", null, true], nested: { ä: 1.5 } };
      const outcome = await store.write([put("a", value)]);
      expect(outcome.kind).toBe("written");
      const document = await store.get("a");
      expect(document).toEqual({ key: "a", version: (outcome as { version: number }).version, value });
      expect(document?.value).not.toBe(value);
      expect(await store.get("b")).toBeUndefined();
    });

    test("fields that are undefined are dropped", async () => {
      await using store = await fresh();
      await store.write([put("a", { kept: 0, dropped: undefined })]);
      expect((await store.get("a"))?.value).toEqual({ kept: 0 });
      expect(Object.keys((await store.get("a"))?.value as object)).toEqual(["kept"]);
    });

    test("a list holds exactly the keys with the prefix, ascending by bytes", async () => {
      await using store = await fresh();
      await store.write(["b/2", "b/10", "b", "b/ü", "b/\u{10000}", "b/\uffff", "c/1", "a/1"].map((key) => put(key, key)));
      expect((await store.list("b/")).map((document) => document.key)).toEqual(["b/10", "b/2", "b/ü", "b/\uffff", "b/\u{10000}"]);
      expect(await store.list("none")).toEqual([]);
      expect(await store.list("")).toHaveLength(8);
    });

    test("an expected version guards against a write in between", async () => {
      await using store = await fresh();
      const first = await version(store, [put("a", 1)]);
      const second = await version(store, [put("a", 2, first)]);
      expect(second).toBeGreaterThan(first);
      expect(await store.write([put("a", 3, first)])).toEqual({ kind: "conflict", key: "a", actualVersion: second });
      expect((await store.get("a"))?.value).toBe(2);
    });

    test("expecting version 0 makes a put that never overwrites", async () => {
      await using store = await fresh();
      const made = await version(store, [put("a", 1, 0)]);
      expect(await store.write([put("a", 2, 0)])).toEqual({ kind: "conflict", key: "a", actualVersion: made });
      expect(await store.write([put("b", 1, 7)])).toEqual({ kind: "conflict", key: "b", actualVersion: 0 });
    });

    test("several writes happen together or not at all", async () => {
      await using store = await fresh();
      await store.write([put("a", 1), put("b", 1)]);
      const refused = await store.write([put("a", 2), remove("b"), put("c", 1, 9)]);
      expect(refused).toEqual({ kind: "conflict", key: "c", actualVersion: 0 });
      expect((await store.list("")).map((document) => document.value)).toEqual([1, 1]);
      const version = await store.write([put("a", 2), remove("b"), put("c", 1, 0)]);
      expect(version.kind).toBe("written");
      expect((await store.list("")).map((document) => [document.key, document.value])).toEqual([
        ["a", 2],
        ["c", 1],
      ]);
      const versions = new Set((await store.list("")).map((document) => document.version));
      expect(versions.size).toBe(1);
    });

    test("a document made again after its deletion has a new version", async () => {
      await using store = await fresh();
      const first = await version(store, [put("a", 1)]);
      await store.write([remove("a", first)]);
      expect(await store.get("a")).toBeUndefined();
      const second = await version(store, [put("a", 1)]);
      expect(second).toBeGreaterThan(first);
      expect(await store.write([put("a", 2, first)])).toEqual({ kind: "conflict", key: "a", actualVersion: second });
    });

    test("deleting a missing document succeeds unless a version was expected", async () => {
      await using store = await fresh();
      expect((await store.write([remove("a")])).kind).toBe("written");
      expect(await store.write([remove("a", 4)])).toEqual({ kind: "conflict", key: "a", actualVersion: 0 });
    });

    test("of concurrent writes that expect the same version exactly one wins", async () => {
      await using store = await fresh();
      const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => store.write([put("a", n, 0)])));
      const winners = outcomes.flatMap((outcome, n) => (outcome.kind === "written" ? [n] : []));
      expect(winners).toHaveLength(1);
      expect((await store.get("a"))?.value).toBe(winners[0]);
    });

    test("documents and version numbers survive a restart", async () => {
      const before = await fresh();
      const first = await version(before, [put("kept", { n: 1 }), put("gone", 1)]);
      const last = await version(before, [remove("gone")]);
      await before[Symbol.asyncDispose]();
      await using after = await open();
      expect(await after.list("")).toEqual([{ key: "kept", version: first, value: { n: 1 } }]);
      expect(await version(after, [put("new", 1)])).toBeGreaterThan(last);
    });

    test("misuse is an error: an empty key, or one key twice in a write", async () => {
      await using store = await fresh();
      await expect(store.get("")).rejects.toThrow("key");
      await expect(store.write([put("", 1)])).rejects.toThrow("key");
      await expect(store.write([put("a", 1), remove("a")])).rejects.toThrow("once");
      expect(await store.list("")).toEqual([]);
    });
  });
}

function put(key: string, value: Json, expectedVersion?: number): DocumentWrite {
  return { kind: "put", key, value, expectedVersion };
}

function remove(key: string, expectedVersion?: number): DocumentWrite {
  return { kind: "delete", key, expectedVersion };
}

async function version(store: MetadataStore, writes: readonly DocumentWrite[]): Promise<number> {
  const outcome = await store.write(writes);
  if (outcome.kind !== "written") throw new Error(`conflict at ${outcome.key}`);
  return outcome.version;
}
