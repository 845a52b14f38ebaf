/** Contract: large payloads are read whole wherever they are stored, and staged payloads read like any others after their commit. */
import { describe, expect, test } from "@jest/globals";
import { MessageType } from "@perdure/service-protocol";
import type { Mutation } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import type { PartitionStore } from "../partition-store.js";
import type { StoreUnderTest } from "./contract.js";
import { all, everything, lead } from "./rows.js";

const BYTES = 1_500_000;

/** Each 4 KiB are different, and so are the payloads of different seeds. */
function payload(seed: number, bytes = BYTES): Uint8Array {
  const large = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i++) large[i] = (i >>> 12) * 31 + i * 7 + seed;
  return large;
}

/** A result as the partition stores it: the journal entry, and the value in it as outcome and state. */
function result(body: Uint8Array): { readonly value: Uint8Array; readonly mutations: readonly Mutation[] } {
  const value = body.subarray(10, body.length - 3);
  const completed = anInvocation("completed", { facts: someFacts({ id: anId(1) }) });
  if (completed.status !== "completed") throw new Error("it is completed");
  const entry = { type: MessageType.Output, body, appendedAtMs: 1_795_000_000_123 };
  return {
    value,
    mutations: [
      { kind: "appendEntry", id: anId(1), index: 0, entry },
      { kind: "putInvocation", invocation: { ...completed, outcome: { kind: "success", value } } },
      { kind: "putState", service: "O", key: "k", stateKey: "s", value },
    ],
  };
}

async function expectResult(store: PartitionStore, body: Uint8Array, value: Uint8Array): Promise<void> {
  // Buffers are compared: a difference in a megabyte of numbers takes minutes to print.
  const same = (actual: Uint8Array | undefined, expected: Uint8Array) =>
    actual !== undefined && Buffer.compare(actual, expected) === 0;
  const [entry] = await store.readJournal(0, anId(1), 1);
  expect(same(entry?.body, body)).toBe(true);
  expect(same(store.reads.entry(0, anId(1), 0)?.body, body)).toBe(true);
  const invocation = store.reads.invocation(0, anId(1));
  expect(invocation).toMatchObject({ status: "completed", outcome: { kind: "success" } });
  if (invocation?.status === "completed" && invocation.outcome.kind === "success")
    expect(same(invocation.outcome.value, value)).toBe(true);
  const [scanned] = await all(store.completed(0));
  expect(scanned?.status === "completed" && scanned.outcome.kind === "success" && same(scanned.outcome.value, value)).toBe(true);
  expect(same((await store.stateOf(0, "O", "k")).get("s"), value)).toBe(true);
  expect(same(store.reads.state(0, "O", "k", "s"), value)).toBe(true);
  const [row] = await all(store.scanState(0, "O"));
  expect(same(row?.value, value)).toBe(true);
}

export function largePayloads({ open, reopen }: StoreUnderTest): void {
  describe("large payloads", () => {
    test("an entry and its value as outcome and state are read as they were written, also after a restart", async () => {
      const store = await open();
      const leader = await lead(store);
      const body = payload(1);
      const { value, mutations } = result(body);
      await leader.put(...mutations);
      await expectResult(store, body, value);
      await store[Symbol.asyncDispose]();
      await using again = await reopen();
      await expectResult(again, body, value);
    });

    test("a large value that is replaced, by a large or a small one, or deleted, leaves only what replaced it", async () => {
      await using store = await open();
      const leader = await lead(store);
      const put = (stateKey: string, value: Uint8Array) =>
        leader.put({ kind: "putState", service: "O", key: "k", stateKey, value });
      for (const stateKey of ["a", "b", "c"]) await put(stateKey, payload(2));
      await put("a", payload(3));
      await put("b", Uint8Array.of(1));
      await leader.put({ kind: "deleteState", service: "O", key: "k", stateKey: "c" });
      const state = await store.stateOf(0, "O", "k");
      expect([...state.keys()]).toEqual(["a", "b"]);
      expect(Buffer.compare(state.get("a") ?? Buffer.alloc(0), payload(3))).toBe(0);
      expect(state.get("b")).toEqual(Uint8Array.of(1));
    });

    test("a staged payload is stored like any other, in the commit that contains it and after it", async () => {
      await using store = await open();
      const leader = await lead(store);
      const body = payload(4);
      const before = await everything(store, 0);
      const staged = await store.staging?.stage(body);
      expect(await everything(store, 0)).toEqual(before); // Staging alone stores no row.
      const { value, mutations } = result(body);
      await leader.put(...mutations);
      staged?.[Symbol.dispose]();
      await expectResult(store, body, value);
      await leader.put({ kind: "putState", service: "O", key: "k", stateKey: "late", value });
      expect(Buffer.compare(store.reads.state(0, "O", "k", "late") ?? Buffer.alloc(0), value)).toBe(0);
    });

    test("a payload that is staged and not committed leaves nothing, and can be committed later", async () => {
      await using store = await open();
      const leader = await lead(store);
      const body = payload(5);
      (await store.staging?.stage(body))?.[Symbol.dispose]();
      const { value, mutations } = result(body);
      await leader.put(...mutations);
      await expectResult(store, body, value);
    });
  });
}
