/**
 * Contract: a new leader finds the running invocations and those that wait for a slot, the buckets as of their last start, and the
 * pauses.
 */
import { describe, expect, test } from "@jest/globals";
import { queueOfScope } from "@perdure/state-machine";
import { anId, anInvocation, scopedTarget, someFacts } from "@perdure/state-machine/testing";
import { newPopulation } from "../population.js";
import type { StoreUnderTest } from "./contract.js";
import { all, lead } from "./rows.js";

const queue = queueOfScope({ ...scopedTarget("s1"), scope: "s1" }, undefined);

export function flowRows({ open }: StoreUnderTest): void {
  describe("flow control", () => {
    test("a new leader resumes the running invocations and those that wait for a slot, and no others", async () => {
      await using store = await open();
      const leader = await lead(store);
      const facts = (n: number) => someFacts({ id: anId(n), target: scopedTarget("s1"), limitKey: "a/b", priority: 1 });
      const expected = [
        anInvocation("invoked", { facts: facts(1) }),
        anInvocation("ready", { facts: facts(2), readyAtMs: 5 }),
        anInvocation("inboxed", { facts: facts(3), waitsFor: "slot" }),
      ];
      const others = [
        anInvocation("inboxed", { facts: someFacts({ id: anId(4) }), inboxSeq: 7 }),
        anInvocation("scheduled", { facts: facts(5) }),
        anInvocation("suspended", { facts: facts(6) }),
        anInvocation("paused", { facts: facts(7) }),
        anInvocation("completed", { facts: facts(8) }),
      ];
      for (const invocation of [...expected, ...others]) await leader.put({ kind: "putInvocation", invocation });
      for (const kind of ["sleep", "purge"] as const)
        await leader.put({ kind: "putTimer", timer: { dueAtMs: 9, kind, id: anId(6), sequence: 1 } });
      const counted = newPopulation();
      const invocations = await all(store.recoverable(0, counted));
      // The purge timer is not counted.
      expect(counted).toEqual({ invoked: 1, ready: 1, inboxed: 2, scheduled: 1, suspended: 1, paused: 1, timers: 1 });
      const plain = invocations.map((each) => ({ ...each, facts: { ...each.facts, bytes: undefined } }));
      expect(plain.sort((a, b) => (a.facts.id < b.facts.id ? -1 : 1))).toEqual(
        expected.map((each) => ({ ...each, facts: { ...each.facts, bytes: undefined } })),
      );
      expect(store.reads.invocation(0, anId(4))).toMatchObject({ waitsFor: "lock", inboxSeq: 7 });
      expect(await all(store.recoverable(1))).toEqual([]);
    });

    test("a bucket has its newest value until it is deleted", async () => {
      await using store = await open();
      const leader = await lead(store);
      const bucket = (name: string, bookedUntilMicros: number) =>
        ({ kind: "putBucket", bucket: { name, bookedUntilMicros } }) as const;
      await leader.put(bucket("s1", 1), bucket("s1/a.b", 1_795_000_000_000_123), bucket("s1/a.b/c_d", 3));
      await leader.put(bucket("s1", 2), { kind: "deleteBucket", name: "s1/a.b/c_d" });
      expect((await store.flow(0)).buckets).toEqual([
        { name: "s1", bookedUntilMicros: 2 },
        { name: "s1/a.b", bookedUntilMicros: 1_795_000_000_000_123 },
      ]);
      expect(await store.flow(1)).toEqual({ buckets: [], pauses: [] });
    });

    test("a pause is there with the lock that it holds back, until it ends", async () => {
      await using store = await open();
      const leader = await lead(store);
      await leader.put({ kind: "putPause", queue, pause: { pausedAtMs: 5, lock: undefined } });
      expect((await store.flow(0)).pauses).toEqual([{ queue, pause: { pausedAtMs: 5, lock: undefined } }]);
      const pause = { pausedAtMs: 5, lock: { service: "O", key: "" } };
      await leader.put({ kind: "putPause", queue, pause });
      expect((await store.flow(0)).pauses).toEqual([{ queue, pause }]);
      await leader.put({ kind: "deletePause", queue });
      expect((await store.flow(0)).pauses).toEqual([]);
    });
  });
}
