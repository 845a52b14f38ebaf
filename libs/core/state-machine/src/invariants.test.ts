/** Each rule finds its violation: a healthy partition is damaged in one place at a time. */
import { describe, expect, test } from "@jest/globals";
import { encodeCompletion, MessageType, voidResult } from "@perdure/service-protocol";
import { brokenInvariants } from "./invariants.js";
import type { Invocation } from "./invocation.js";
import {
  anId,
  endOf,
  failOf,
  getPromiseOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  sleepOf,
  someFacts,
  suspendOf,
  workflowTarget,
} from "./testing/index.js";

const HOLDER = anId(1);
const WAITING = anId(2);
const LATER = anId(3);
const DONE = anId(4);
const SUSPENDED = anId(5);
const LISTENER = anId(6);
const PAUSED = anId(7);

/** Invocations of every status, all in order. */
function healthy(): MemoryPartition {
  const partition = new MemoryPartition();
  const target = objectTarget("k");
  partition.play(invokeOf(someFacts({ id: HOLDER, target })));
  partition.play(invokeOf(someFacts({ id: WAITING, target })));
  partition.play(invokeOf(someFacts({ id: LATER, target, executionTimeMs: 5_000 })));
  partition.play(invokeOf(someFacts({ id: DONE, journalRetentionMs: 10_000 })));
  partition.play(outputOf(DONE, 1, "out"));
  partition.play(endOf(DONE, 1));
  partition.play(invokeOf(someFacts({ id: SUSPENDED })));
  partition.play(sleepOf(SUSPENDED, 1, 1, 60_000));
  partition.play(suspendOf(SUSPENDED, 1, [1]));
  partition.play(invokeOf(someFacts({ id: LISTENER, target: workflowTarget("w") })));
  partition.play(getPromiseOf(LISTENER, 1, "p", 1));
  partition.play(invokeOf(someFacts({ id: PAUSED })));
  partition.play(failOf(PAUSED, 1, "pause"));
  return partition;
}

function change(partition: MemoryPartition, id: typeof HOLDER, changed: Partial<Invocation> & object): void {
  const invocation = partition.invocation(id);
  if (invocation === undefined) throw new Error("the healthy partition has it");
  partition.invocations.set(id, { ...invocation, ...changed } as Invocation);
}

const notification = { type: MessageType.SleepCompletion, body: encodeCompletion(1, voidResult), appendedAtMs: 1 };

const DAMAGE: readonly (readonly [string, (partition: MemoryPartition) => void, RegExp])[] = [
  ["a lock that its holder does not have", (p) => p.locks.delete("O/k"), /held by undefined/],
  [
    "a lock held by an invocation that has ended",
    (p) => p.locks.set("O/k", { holder: DONE, head: 0, tail: 1 }),
    /held by .* which is completed/,
  ],
  [
    "a lock held by an invocation that does not exist",
    (p) => p.locks.set("O/x", { holder: anId(99), head: 0, tail: 0 }),
    /O\/x is held by .* which is not there/,
  ],
  [
    "an inbox that ends before it begins",
    (p) => p.locks.set("O/k", { holder: HOLDER, head: 2, tail: 1 }),
    /ends at 1 before it begins at 2/,
  ],
  ["a waiting invocation without its place", (p) => p.inboxes.clear(), /but not in its inbox/],
  [
    "an inbox entry outside of the range of its lock",
    (p) => p.locks.set("O/k", { holder: HOLDER, head: 1, tail: 1 }),
    /outside of the range of the lock/,
  ],
  [
    "an inbox entry of an invocation that does not wait",
    (p) => p.inboxes.set("O/k/0", { kind: "invocation", id: DONE }),
    /which is completed/,
  ],
  ["a hole in a journal", (p) => p.entries.delete(`${DONE}/0`), /lacks entry 0/],
  ["a journal longer than its count", (p) => p.entries.set(`${HOLDER}/1`, notification), /continues behind its end/],
  [
    "commands that are counted wrong",
    (p) => change(p, SUSPENDED, { journal: { length: 2, commands: 1, notifications: 1, outputIndex: -1, hasEvents: false } }),
    /counts 2 commands/,
  ],
  [
    "an Output that is not counted",
    (p) => change(p, DONE, { journal: { length: 2, commands: 2, notifications: 0, outputIndex: -1, hasEvents: false } }),
    /counts/,
  ],
  ["a journal that does not begin with its Input", (p) => p.entries.set(`${HOLDER}/0`, notification), /counts 0 commands/],
  [
    "an unfinished invocation without a journal",
    (p) => change(p, PAUSED, { journal: { length: 0, commands: 0, notifications: 0, outputIndex: -1, hasEvents: false } }),
    /paused without a journal/,
  ],
  [
    "a suspension whose sleep is completed",
    (p) => {
      p.entries.set(`${SUSPENDED}/2`, notification);
      change(p, SUSPENDED, { journal: { length: 3, commands: 2, notifications: 1, outputIndex: -1, hasEvents: false } });
    },
    /stays suspended although/,
  ],
  [
    "a suspension on nothing",
    (p) =>
      change(p, SUSPENDED, {
        awaiting: { completions: [], signalIndexes: [], signalNames: [], nested: [], combinator: "unknown" },
      }),
    /waits for nothing/,
  ],
  ["a sleep without its timer", (p) => p.timers.delete(`60000/sleep/${SUSPENDED}/1`), /sleeps under 1, but has no timer/],
  ["a promise without its listeners", (p) => p.promises.clear(), /waits for promise p, which does not list it/],
  ["a delayed start without its timer", (p) => p.timers.delete(`5000/start/${LATER}/0`), /has no timer that starts it/],
  ["a record that is kept for ever", (p) => p.timers.delete(`61000/purge/${DONE}/0`), /has no timer that deletes it/],
  ["a journal that is kept for ever", (p) => p.timers.delete(`11000/purgeJournal/${DONE}/0`), /keeps a journal/],
  ["a timer of a deleted invocation", (p) => p.invocations.delete(LATER), /a start timer is for .* which is not there/],
  [
    "a caller that was not notified",
    (p) => change(p, DONE, { sinks: [{ kind: "call", callerId: SUSPENDED, callerGeneration: undefined, completionId: 1 }] }),
    /has callers that were not notified/,
  ],
  ["a handler in flight that never started", (p) => change(p, PAUSED, { run: 0 }), /without ever having run/],
];

describe("invariants", () => {
  test("hold for a partition with invocations of every status", () => {
    const partition = healthy();
    const statuses = new Set([...partition.invocations.values()].map((invocation) => invocation.status));
    expect(statuses.size).toBe(6);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
    expect(brokenInvariants(new MemoryPartition().snapshot())).toEqual([]);
  });

  test.each(DAMAGE)("find %s", (_, damage, finding) => {
    const partition = healthy();
    damage(partition);
    expect(brokenInvariants(partition.snapshot())).toContainEqual(expect.stringMatching(finding));
  });

  test("of invocations at rest are checked again only when their rows were written", () => {
    const partition = healthy();
    for (const timer of [`61000/purge/${DONE}/0`, `5000/start/${LATER}/0`]) partition.timers.delete(timer);
    const broken = (...ids: (typeof DONE)[]): readonly string[] =>
      brokenInvariants({ ...partition.snapshot(), changedIds: new Set(ids) });
    expect(broken()).toEqual([]);
    expect(broken(DONE)).toEqual([expect.stringMatching(/has no timer that deletes it/)]);
    expect(broken(LATER)).toEqual([expect.stringMatching(/has no timer that starts it/)]);
    partition.promises.clear(); // An invocation in flight depends on rows of others.
    expect(broken()).toEqual([expect.stringMatching(/waits for promise p/)]);
  });
});
