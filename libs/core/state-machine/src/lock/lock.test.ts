import { describe, expect, test } from "@jest/globals";
import { type InvocationId, utf8 } from "@perdure/base";
import fc from "fast-check";
import type { MutateState } from "../command.js";
import { brokenInvariants } from "../invariants.js";
import { stateVersion } from "../state/replace.js";
import { anId, endOf, invokeOf, MemoryPartition, objectTarget, outputOf, setStateOf, someFacts } from "../testing/index.js";

const target = objectTarget("k");

function arrive(partition: MemoryPartition, ...numbers: number[]): void {
  for (const n of numbers) partition.play(invokeOf(someFacts({ id: anId(n), target })));
}

function finish(partition: MemoryPartition, id: InvocationId): void {
  partition.play(outputOf(id, 1, "out"));
  partition.play(endOf(id, 1));
}

const edit = (entries: MutateState["entries"], change: Partial<MutateState> = {}): MutateState => ({
  kind: "mutateState",
  id: anId(99),
  service: "O",
  key: "k",
  exclusive: true,
  expectedVersion: undefined,
  entries,
  ...change,
});
const answer = (partition: MemoryPartition, command: MutateState) =>
  partition.play(command).effects.flatMap((effect) => (effect.kind === "reply" ? [effect.answer.kind] : []));
const stateOf = (partition: MemoryPartition) =>
  [...partition.stateOf("O", "k")].map(([key, value]) => `${key}=${Buffer.from(value)}`);

describe("an object's lock", () => {
  test("passes from one to the next in order of arrival, and is deleted when the queue is empty", () => {
    const partition = new MemoryPartition();
    arrive(partition, 1, 2, 3);
    for (const n of [1, 2, 3]) {
      expect(partition.lock("O", "k")?.holder).toBe(anId(n));
      expect([1, 2, 3].filter((each) => partition.invocation(anId(each))?.status === "invoked")).toEqual([n]);
      finish(partition, anId(n));
      expect(brokenInvariants(partition.snapshot())).toEqual([]);
    }
    expect(partition.locks.size + partition.inboxes.size).toBe(0);
  });

  test("skips entries that were cancelled, in any pattern", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 2, max: 8 })), fc.boolean(), (leaving, byKill) => {
        const partition = new MemoryPartition();
        arrive(partition, 1, 2, 3, 4, 5, 6, 7, 8);
        for (const n of leaving) partition.play({ kind: byKill ? "kill" : "cancel", id: anId(n) });
        const served: number[] = [];
        for (let lock = partition.lock("O", "k"); lock?.holder !== undefined; lock = partition.lock("O", "k")) {
          expect(brokenInvariants(partition.snapshot())).toEqual([]);
          served.push([1, 2, 3, 4, 5, 6, 7, 8].findIndex((n) => anId(n) === lock?.holder) + 1);
          finish(partition, lock.holder);
        }
        expect(served).toEqual([1, 2, 3, 4, 5, 6, 7, 8].filter((n) => !leaving.includes(n)));
        expect(partition.inboxes.size).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});

describe("editing the state of an object", () => {
  const entry = (key: string, text: string) => ({ key, value: utf8(text) });

  test("happens at once when the lock is free, and replaces everything", () => {
    const partition = new MemoryPartition();
    expect(answer(partition, edit([entry("a", "1"), entry("b", "2")]))).toEqual(["done"]);
    expect(answer(partition, edit([entry("b", "3")]))).toEqual(["done"]);
    expect(stateOf(partition)).toEqual(["b=3"]);
    expect(answer(partition, edit([]))).toEqual(["done"]);
    expect(stateOf(partition)).toEqual([]);
  });

  test("waits in the inbox: after earlier entries, before later ones", () => {
    const partition = new MemoryPartition();
    arrive(partition, 1, 2);
    expect(answer(partition, edit([entry("a", "edited")]))).toEqual(["pending"]);
    arrive(partition, 3);
    partition.play(setStateOf(anId(1), 1, "a", "first"));
    finish(partition, anId(1));
    expect(partition.lock("O", "k")?.holder).toBe(anId(2));
    expect(stateOf(partition)).toEqual(["a=first"]);
    finish(partition, anId(2));
    expect(stateOf(partition)).toEqual(["a=edited"]);
    expect(partition.lock("O", "k")?.holder).toBe(anId(3));
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("at the end of the inbox leaves the object unlocked", () => {
    const partition = new MemoryPartition();
    arrive(partition, 1);
    answer(partition, edit([entry("a", "edited")]));
    finish(partition, anId(1));
    expect(stateOf(partition)).toEqual(["a=edited"]);
    expect(partition.locks.size + partition.inboxes.size).toBe(0);
  });

  test("of a version that is not the present one changes nothing; the present one does", () => {
    const partition = new MemoryPartition();
    answer(partition, edit([entry("a", "1")]));
    const version = stateVersion(partition.stateOf("O", "k"));
    expect(answer(partition, edit([entry("a", "2")], { expectedVersion: "another" }))).toEqual(["versionMismatch"]);
    expect(stateOf(partition)).toEqual(["a=1"]);
    expect(answer(partition, edit([entry("a", "2")], { expectedVersion: version }))).toEqual(["done"]);
    expect(answer(partition, edit([entry("a", "3")], { expectedVersion: version }))).toEqual(["versionMismatch"]);
    expect(stateOf(partition)).toEqual(["a=2"]);
  });

  test("of a stale version that waits is dropped when its turn comes", () => {
    const partition = new MemoryPartition();
    arrive(partition, 1);
    const version = stateVersion(partition.stateOf("O", "k"));
    answer(partition, edit([entry("a", "edited")], { expectedVersion: version }));
    partition.play(setStateOf(anId(1), 1, "b", "v"));
    finish(partition, anId(1));
    expect(stateOf(partition)).toEqual(["b=v"]);
  });

  test("of a workflow does not wait for locks of objects", () => {
    const partition = new MemoryPartition();
    arrive(partition, 1);
    expect(answer(partition, edit([entry("a", "1")], { exclusive: false }))).toEqual(["done"]);
  });
});

describe("the version of a state", () => {
  test("depends on keys and values alone, not on their order", () => {
    const [a, b] = [["a", utf8("1")] as const, ["b", utf8("2")] as const];
    expect(stateVersion([a, b])).toBe(stateVersion([b, a]));
    const others = [[], [a], [["a", utf8("2")] as const], [["a1", utf8("")] as const], [["", utf8("a1")] as const], [a, b]];
    expect(new Set(others.map((entries) => stateVersion(entries))).size).toBe(others.length);
  });
});
