/** Contract: what belongs to a service key (state, promises, locks, inboxes) is kept apart for any key and comes in protocol order. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { InboxEntry, Mutation, WorkflowPromise } from "@perdure/state-machine";
import { anId } from "@perdure/state-machine/testing";
import type { StoreUnderTest } from "./contract.js";
import { all, bytesText, lead } from "./rows.js";

const put = (service: string, key: string, stateKey: string, value = utf8("v")): Mutation => ({
  kind: "putState",
  service,
  key,
  stateKey,
  value,
});

/** Keys that a careless layout of rows mixes up. */
const AWKWARD_KEYS = ["", "a", "a/b", "a/b/c", "1:a", "2:aa", "\0", "a\0b", "ä", "日本", "\u{1f511}", "ÿ", "a".repeat(300)];

export function keyedRows({ open }: StoreUnderTest): void {
  describe("keyed rows", () => {
    test("state keys come in the order of the protocol: by the varint of their length, then by bytes", async () => {
      await using store = await open();
      const leader = await lead(store);
      const key = (length: number) => "k".repeat(length);
      const lengths = [0, 1, 127, 128, 256, 384, 129, 257, 130, 300, 200, 255, 383];
      await leader.put(...[...lengths].reverse().map((length) => put("O", "k", key(length))));
      expect([...(await store.stateOf(0, "O", "k")).keys()].map((stateKey) => stateKey.length)).toEqual(lengths);
      expect((await all(store.scanState(0, undefined))).map((row) => row.stateKey.length)).toEqual(lengths);
    });

    test("state keys of one length are ordered by unsigned bytes", async () => {
      await using store = await open();
      const leader = await lead(store);
      const stateKeys = [
        bytesText(0),
        bytesText(1),
        bytesText(0x7f),
        bytesText(0x80),
        bytesText(0xff),
        bytesText(0, 0),
        bytesText(0xff, 0xff),
      ];
      await leader.put(...[...stateKeys].reverse().map((stateKey) => put("O", "k", stateKey)));
      expect([...(await store.stateOf(0, "O", "k")).keys()]).toEqual(stateKeys);
    });

    test("an empty value is a value", async () => {
      await using store = await open();
      const leader = await lead(store);
      await leader.put(put("O", "k", "empty", new Uint8Array(0)));
      expect(store.reads.state(0, "O", "k", "empty")).toEqual(new Uint8Array(0));
      expect((await store.stateOf(0, "O", "k")).get("empty")).toEqual(new Uint8Array(0));
      expect(store.reads.state(0, "O", "k", "absent")).toBeUndefined();
    });

    test("state of awkward keys is kept apart: `a` + `b/c` is not `a/b` + `c`", async () => {
      await using store = await open();
      const leader = await lead(store);
      await leader.put(
        ...AWKWARD_KEYS.map((key, n) => put("O", key, "k", utf8(`${n}`))),
        put("O", "a", "b/c"),
        put("O", "a/b", "c"),
        put("O2", "a", "k"),
        put("O3@scope", "a", "k"),
        put("O3", "a", "k"),
      );
      for (const [n, key] of AWKWARD_KEYS.entries()) {
        const extra = key === "a" ? ["b/c"] : key === "a/b" ? ["c"] : [];
        expect([...(await store.stateOf(0, "O", key)).keys()]).toEqual(
          extra.concat("k").sort((a, b) => a.length - b.length || (a < b ? -1 : 1)),
        );
        expect(store.reads.state(0, "O", key, "k")).toEqual(utf8(`${n}`));
      }
      const rows = await all(store.scanState(0, "O"));
      expect(new Set(rows.filter((row) => row.stateKey === "k").map((row) => row.key))).toEqual(new Set(AWKWARD_KEYS));
      expect(rows.every((row) => row.service === "O")).toBe(true);
      expect(await all(store.scanState(0, "O2"))).toEqual([{ service: "O2", key: "a", stateKey: "k", value: utf8("v") }]);
      expect((await all(store.scanState(0, "O3"))).map(({ service }) => service).sort()).toEqual(["O3", "O3@scope"]);
      expect((await all(store.scanState(0, "O3", "inScopes"))).map(({ service }) => service)).toEqual(["O3@scope"]);
      expect(await all(store.scanState(0, "None"))).toEqual([]);
    });

    test("promises can be read by name, listed by key, and scanned with both", async () => {
      await using store = await open();
      const leader = await lead(store);
      const names = ["", "p", "a/b", "имя", "\u{1f511}", "n".repeat(300)];
      const pending: WorkflowPromise = {
        kind: "pending",
        listeners: [
          { id: anId(1), generation: undefined, completionId: 1 },
          { id: anId(2), generation: 1_795_000_000_000, completionId: 7 },
        ],
      };
      await leader.put(
        ...AWKWARD_KEYS.flatMap((key) =>
          names.map((name): Mutation => ({ kind: "putPromise", service: "W", key, name, promise: pending })),
        ),
      );
      const done: WorkflowPromise = {
        kind: "completed",
        outcome: {
          kind: "failure",
          failure: { code: 409, message: "nö", metadata: [{ key: "a", value: "" }] },
          stacktrace: undefined,
        },
      };
      await leader.put({ kind: "putPromise", service: "W", key: "a", name: "p", promise: done });
      await leader.put({ kind: "deletePromise", service: "W", key: "a", name: "имя" });
      expect(store.reads.promise(0, "W", "a", "p")).toEqual(done);
      expect(store.reads.promise(0, "W", "a", "a/b")).toEqual(pending);
      expect(store.reads.promise(0, "W", "a", "имя")).toBeUndefined();
      expect(store.reads.promise(0, "W", "b", "p")).toBeUndefined();
      expect([...(await store.promisesOf(0, "W", "a"))].sort()).toEqual(names.filter((name) => name !== "имя").sort());
      expect([...(await store.promisesOf(0, "W", "日本"))].sort()).toEqual([...names].sort());
      const rows = await all(store.scanPromises(0));
      expect(rows).toHaveLength(AWKWARD_KEYS.length * names.length - 1);
      expect(rows.find((row) => row.key === "a" && row.name === "p")?.promise).toEqual(done);
    });

    test("a promise may hold an empty value, a failure or no waiting invocation", async () => {
      await using store = await open();
      const leader = await lead(store);
      const promises: WorkflowPromise[] = [
        { kind: "completed", outcome: { kind: "success", value: new Uint8Array(0) } },
        { kind: "completed", outcome: { kind: "failure", failure: { code: 0, message: "", metadata: [] }, stacktrace: "at h" } },
        { kind: "pending", listeners: [] },
      ];
      await leader.put(
        ...promises.map((promise, n): Mutation => ({ kind: "putPromise", service: "W", key: "k", name: `${n}`, promise })),
      );
      for (const [n, promise] of promises.entries()) expect(store.reads.promise(0, "W", "k", `${n}`)).toEqual(promise);
    });

    test("locks and inboxes of awkward keys are kept apart, inbox entries come in order of their numbers", async () => {
      await using store = await open();
      const leader = await lead(store);
      await leader.put(
        ...AWKWARD_KEYS.map(
          (key, n): Mutation => ({ kind: "putLock", service: "O", key, lock: { holder: anId(n), head: 1, tail: n } }),
        ),
      );
      const entries = new Map<number, InboxEntry>([
        [0, { kind: "invocation", id: anId(9) }],
        [
          9,
          { kind: "stateMutation", expectedVersion: "v", entries: [{ key: bytesText(0, 0xff), value: new Uint8Array([1, 2]) }] },
        ],
        [10, { kind: "stateMutation", expectedVersion: undefined, entries: [] }],
        [36, { kind: "invocation", id: anId(10) }],
        [2 ** 40, { kind: "invocation", id: anId(11) }],
      ]);
      for (const key of AWKWARD_KEYS) {
        await leader.put(
          ...[...entries].reverse().map(([seq, entry]): Mutation => ({ kind: "putInbox", service: "O", key, seq, entry })),
        );
      }
      for (const [n, key] of AWKWARD_KEYS.entries()) {
        expect(store.reads.lock(0, "O", key)).toEqual({ holder: anId(n), head: 1, tail: n });
        for (const [seq, entry] of entries) expect(store.reads.inbox(0, "O", key, seq)).toEqual(entry);
        expect(store.reads.inbox(0, "O", key, 1)).toBeUndefined();
      }
      const inboxes = await all(store.scanInboxes(0));
      for (const key of AWKWARD_KEYS)
        expect(inboxes.filter((row) => row.key === key).map((row) => row.seq)).toEqual([...entries.keys()]);
      expect(new Set((await all(store.scanLocks(0))).map((row) => row.key))).toEqual(new Set(AWKWARD_KEYS));
      await leader.put({ kind: "deleteInbox", service: "O", key: "a", seq: 9 }, { kind: "deleteLock", service: "O", key: "a" });
      expect(store.reads.inbox(0, "O", "a", 9)).toBeUndefined();
      expect(store.reads.lock(0, "O", "a")).toBeUndefined();
      expect(store.reads.lock(0, "O", "a/b")).toBeDefined();
    });
  });
}
