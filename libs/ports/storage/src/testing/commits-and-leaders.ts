/** Contract: a commit is atomic over all its partitions, ordered, and refused when any of its leaders was deposed. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import type { StoreUnderTest } from "./contract.js";
import { all, everything, lead } from "./rows.js";

const mark = (value: string): Mutation => ({ kind: "putState", service: "O", key: "k", stateKey: "mark", value: utf8(value) });

export function commitsAndLeaders({ open }: StoreUnderTest): void {
  describe("commits and leaders", () => {
    test("every claim gives a higher epoch, each partition on its own", async () => {
      await using store = await open();
      const first = await store.claim(0);
      expect(first).toBeGreaterThan(0);
      const other = await store.claim(1);
      expect(await store.claim(0)).toBeGreaterThan(first);
      expect(await store.claim(1)).toBeGreaterThan(other);
    });

    test("a deposed leader is fenced and leaves no trace", async () => {
      await using store = await open();
      const old = await lead(store);
      await old.put(mark("first"));
      const young = await lead(store);
      const before = await everything(store, 0);
      const put: Mutation = { kind: "putInvocation", invocation: anInvocation("invoked") };
      expect(await old.put(mark("late"), put)).toEqual({ kind: "fenced", partition: 0, by: young.epoch });
      expect(await everything(store, 0)).toEqual(before);
      expect(await young.put(mark("second"))).toEqual({ kind: "committed" });
      expect(store.reads.state(0, "O", "k", "mark")).toEqual(utf8("second"));
    });

    test("a claim alone fences the leader before it", async () => {
      await using store = await open();
      const old = await lead(store);
      await store.claim(0);
      expect((await old.put(mark("late"))).kind).toBe("fenced");
      expect(store.reads.state(0, "O", "k", "mark")).toBeUndefined();
    });

    test("a leader that never claimed the partition cannot write to it", async () => {
      await using store = await open();
      const { epoch } = await lead(store);
      const outcome = await store.commit([{ partition: 0, epoch: epoch + 1, mutations: [mark("usurper")] }]);
      expect(outcome.kind).toBe("fenced");
      expect((await store.commit([{ partition: 7, epoch: 1, mutations: [mark("unclaimed")] }])).kind).toBe("fenced");
      expect(store.reads.state(7, "O", "k", "mark")).toBeUndefined();
    });

    test("batches of several partitions are written together, or not at all when one of their leaders is deposed", async () => {
      await using store = await open();
      if (!store.capabilities.sharedBatch) return;
      const [a, b, c] = [await lead(store, 0), await lead(store, 1), await lead(store, 2)];
      const batch = ({ partition, epoch }: typeof a, value: string) => ({ partition, epoch, mutations: [mark(value)] });
      expect(await store.commit([batch(a, "1"), batch(b, "1"), batch(c, "1")])).toEqual({ kind: "committed" });
      const usurper = await lead(store, 1);
      const outcome = await store.commit([batch(a, "2"), batch(b, "2"), batch(c, "2")]);
      expect(outcome).toEqual({ kind: "fenced", partition: 1, by: usurper.epoch });
      for (const partition of [0, 1, 2]) expect(store.reads.state(partition, "O", "k", "mark")).toEqual(utf8("1"));
    });

    test("mutations of a batch count in their order: the last one to a row wins", async () => {
      await using store = await open();
      const leader = await lead(store);
      const running = anInvocation("invoked");
      await leader.put(
        mark("a"),
        { kind: "deleteState", service: "O", key: "k", stateKey: "mark" },
        mark("b"),
        { kind: "putInvocation", invocation: running },
        { kind: "deleteInvocation", id: running.facts.id },
        { kind: "putInvocation", invocation: { ...running, run: 2 } },
        { kind: "putLock", service: "O", key: "k", lock: { holder: anId(1), head: 0, tail: 0 } },
        { kind: "deleteLock", service: "O", key: "k" },
      );
      expect(store.reads.state(0, "O", "k", "mark")).toEqual(utf8("b"));
      expect(store.reads.invocation(0, running.facts.id)?.run).toBe(2);
      expect(store.reads.lock(0, "O", "k")).toBeUndefined();
    });

    test("a batch of nothing is committed, and so is a large one", async () => {
      await using store = await open();
      const leader = await lead(store);
      expect(await leader.put()).toEqual({ kind: "committed" });
      const many: Mutation[] = [];
      for (let n = 0; n < 3_000; n++)
        many.push({ kind: "putInvocation", invocation: anInvocation("suspended", { facts: someFacts({ id: anId(n) }) }) });
      expect(await leader.put(...many)).toEqual({ kind: "committed" });
      expect(await all(store.unfinished(0, "suspended"))).toHaveLength(3_000);
    });

    test("partitions do not see each other's rows", async () => {
      await using store = await open();
      const [a, b] = [await lead(store, 0), await lead(store, 1)];
      await a.put(mark("a"), { kind: "putInvocation", invocation: anInvocation("invoked") });
      await b.put({ kind: "putTimer", timer: { dueAtMs: 1, kind: "sleep", id: anId(1), sequence: 1 } });
      const empty = (await everything(store, 5)) as Record<string, unknown[]>;
      for (const rows of Object.values(empty)) expect(rows).toEqual([]);
      expect(store.reads.invocation(1, anInvocation("invoked").facts.id)).toBeUndefined();
      expect(await store.timers(0, "precise", 0, 10)).toEqual([]);
      expect(await all(store.scanState(1, undefined))).toEqual([]);
    });
  });
}
