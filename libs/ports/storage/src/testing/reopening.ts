/** Contract: committed rows are there after a restart, and the epoch of the new leader is above every earlier one. */
import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import { anId, anInvocation } from "@perdure/state-machine/testing";
import type { StoreUnderTest } from "./contract.js";
import { everything, lead } from "./rows.js";

export function reopening({ open, reopen }: StoreUnderTest): void {
  describe("reopening", () => {
    test("everything committed survives, epochs included", async () => {
      const store = await open();
      const leader = await lead(store);
      const entry = { type: MessageType.Input, body: utf8("in"), appendedAtMs: 5 };
      await leader.put(
        { kind: "putInvocation", invocation: anInvocation("suspended") },
        { kind: "appendEntry", id: anId(1), index: 0, entry },
        { kind: "putState", service: "O", key: "k", stateKey: "s", value: utf8("v") },
        { kind: "putLock", service: "O", key: "k", lock: { holder: anId(1), head: 0, tail: 1 } },
        { kind: "putInbox", service: "O", key: "k", seq: 0, entry: { kind: "invocation", id: anId(2) } },
        { kind: "putPromise", service: "W", key: "k", name: "p", promise: { kind: "pending", listeners: [] } },
        { kind: "putTimer", timer: { dueAtMs: 5, kind: "sleep", id: anId(1), sequence: 1 } },
        { kind: "putOutbox", message: { seq: 3, command: { kind: "kill", id: anId(4) } } },
        { kind: "putDedup", producer: "p9", seq: 4 },
      );
      const before = await everything(store, 0);
      await store[Symbol.asyncDispose]();

      await using again = await reopen();
      expect(await everything(again, 0)).toEqual(before);
      expect(await again.readJournal(0, anId(1), 1)).toEqual([entry]);
      expect(again.reads.dedup(0, "p9")).toBe(4);
      expect(await again.claim(0)).toBeGreaterThan(leader.epoch);
    });

    test("a leader of before the restart cannot write before any leader has claimed the partition", async () => {
      const store = await open();
      const { epoch } = await lead(store);
      await store[Symbol.asyncDispose]();
      await using again = await reopen();
      const outcome = await again.commit([{ partition: 0, epoch, mutations: [{ kind: "putDedup", producer: "p", seq: 1 }] }]);
      expect(outcome.kind).toBe("fenced");
      expect(again.reads.dedup(0, "p")).toBeUndefined();
    });
  });
}
