import { describe, expect, test } from "@jest/globals";
import { decodeNotification, MessageType } from "@perdure/service-protocol";
import type { InvocationFacts } from "../invocation.js";
import { expiresAtMs } from "../invocation.js";
import {
  anId,
  attachOf,
  endOf,
  failOf,
  invokeOf,
  MemoryPartition,
  outputOf,
  SOME_ERROR,
  setStateOf,
  someFacts,
  workflowTarget,
} from "../testing/index.js";

const ID = anId(1);
const CALLER = anId(9);

function end(change: Partial<InvocationFacts>): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, ...change })));
  partition.play(outputOf(ID, 1, "first"));
  partition.play(outputOf(ID, 1, "last"));
  partition.nowMs = 2_000;
  partition.play(endOf(ID, 1));
  return partition;
}

const timersOf = (partition: MemoryPartition) => [...partition.timers.values()].map(({ kind, dueAtMs }) => [kind, dueAtMs]);

describe("retention", () => {
  test.each([
    ["nothing is kept: no record, no journal, no timer", 0, 0, undefined, 0, []],
    ["the outcome is kept without its journal", 5_000, 0, 0, 0, [["purge", 7_000]]],
    [
      "the journal goes before the outcome",
      5_000,
      1_000,
      3,
      3,
      [
        ["purge", 7_000],
        ["purgeJournal", 3_000],
      ],
    ],
    ["both go together", 5_000, 5_000, 3, 3, [["purge", 7_000]]],
    ["a journal cannot be kept longer than its outcome", 5_000, 9_000, 3, 3, [["purge", 7_000]]],
    ["a journal cannot be kept without an outcome", 0, 9_000, undefined, 0, []],
  ] as const)("%s", (_, completionRetentionMs, journalRetentionMs, length, entries, timers) => {
    const partition = end({ completionRetentionMs, journalRetentionMs });
    expect(partition.invocation(ID)?.journal.length).toBe(length);
    expect(partition.entries.size).toBe(entries);
    expect(timersOf(partition)).toEqual(timers);
  });

  test("a stored outcome has the time of its deletion", () => {
    const invocation = end({ completionRetentionMs: 5_000 }).invocation(ID);
    expect(invocation?.status === "completed" && expiresAtMs(invocation)).toBe(7_000);
  });

  test("a workflow without retention is deleted with its state at once", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID, target: workflowTarget("w"), completionRetentionMs: 0 })));
    partition.play(setStateOf(ID, 1, "s", "v"));
    partition.play({ kind: "kill", id: ID });
    expect([partition.invocations.size, partition.entries.size, partition.stateOf("W", "w").size]).toEqual([0, 0, 0]);
  });
});

describe("an outcome", () => {
  test("is the last Output, and reaches callers by notification, waiters by announcement", () => {
    const partition = new MemoryPartition();
    const sink = { callerId: CALLER, callerGeneration: 5, completionId: 2 };
    partition.play(invokeOf(someFacts({ id: ID }), { kind: "call", ...sink }));
    partition.play({ kind: "attach", id: ID, sink: { kind: "attach", ...sink, completionId: 3 } });
    partition.play(outputOf(ID, 1, "first"));
    partition.play(outputOf(ID, 1, "last"));
    const { sent, effects } = partition.play(endOf(ID, 1));
    const value = Buffer.from("last");
    expect(sent).toMatchObject([
      { kind: "notify", id: CALLER, generation: 5, type: MessageType.CallCompletion },
      { kind: "notify", id: CALLER, generation: 5, type: MessageType.AttachInvocationCompletion },
    ]);
    for (const each of sent)
      expect(each.kind === "notify" && decodeNotification(each.type, each.body)).toMatchObject({ result: { kind: "value" } });
    const announced = effects.find((effect) => effect.kind === "announce");
    expect(announced?.outcome.kind === "success" && Buffer.from(announced.outcome.value)).toEqual(value);
    expect(partition.invocation(ID)?.sinks).toEqual([]);
  });

  test("of an invocation that is killed by its retry policy is the last error, stack trace included", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID })));
    partition.play(failOf(ID, 1, "kill"));
    const { code, message, stacktrace } = SOME_ERROR;
    expect(partition.invocation(ID)).toMatchObject({ outcome: { kind: "failure", failure: { code, message }, stacktrace } });
  });
});

describe("reading the outcome of another invocation", () => {
  const answers = (partition: MemoryPartition, kind: "attach" | "getOutput", to = ID) => {
    partition.play(invokeOf(someFacts({ id: CALLER })));
    const { sent } = partition.play(attachOf(CALLER, 1, to, 4, kind));
    return sent
      .flatMap((command) => partition.play(command).sent)
      .map((each) => (each.kind === "notify" ? decodeNotification(each.type, each.body) : each));
  };

  test("attaching waits for one that runs, and gets the outcome at once from one that has ended", () => {
    const running = new MemoryPartition();
    running.play(invokeOf(someFacts({ id: ID })));
    expect(answers(running, "attach")).toEqual([]);
    expect(running.invocation(ID)?.sinks).toMatchObject([{ kind: "attach", callerId: CALLER, completionId: 4 }]);
    expect(answers(end({}), "attach")).toMatchObject([
      { type: MessageType.AttachInvocationCompletion, id: { id: 4 }, result: { kind: "value" } },
    ]);
  });

  test("a later generation of a caller's id waits for itself, though it uses the completion id of the earlier one", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID })));
    for (const callerGeneration of [5, 6, 6]) {
      partition.play({ kind: "attach", id: ID, sink: { kind: "attach", callerId: CALLER, callerGeneration, completionId: 3 } });
    }
    expect(partition.invocation(ID)?.sinks.map(({ callerGeneration }) => callerGeneration)).toEqual([5, 6]);
  });

  test("getting the output never waits: void while it runs, the outcome afterwards", () => {
    const running = new MemoryPartition();
    running.play(invokeOf(someFacts({ id: ID })));
    const type = MessageType.GetInvocationOutputCompletion;
    expect(answers(running, "getOutput")).toMatchObject([{ type, result: { kind: "void" } }]);
    expect(answers(end({}), "getOutput")).toMatchObject([{ type, result: { kind: "value" } }]);
  });

  test.each(["attach", "getOutput"] as const)("%s of one that does not exist is 404", (kind) => {
    expect(answers(new MemoryPartition(), kind, anId(77))).toMatchObject([
      { result: { failure: { code: 404, message: "not found" } } },
    ]);
  });
});
