/** What an operation ended or deleted continues as if it had not been, and nothing is delivered twice. */
import { describe, expect, test } from "@jest/globals";
import { type InvocationId, type OperationId, utf8 } from "@perdure/base";
import { MessageType, voidResult } from "@perdure/service-protocol";
import type { PartitionCommand, UndoMark } from "../command.js";
import type { UndoAnswer } from "../effect.js";
import { brokenInvariants } from "../invariants.js";
import {
  anId,
  attachOf,
  callOf,
  completePromiseOf,
  endOf,
  getPromiseOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  pinOf,
  proposeOf,
  runOf,
  setStateOf,
  sleepOf,
  someFacts,
  suspendOf,
  workflowTarget,
} from "../testing/index.js";

const ID = anId(1);
const CHILD = anId(2);
const NEXT = anId(3);
const OPERATION = "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId;
const OTHER = "op_15ChR1PDwZt22Rn2lfZrRo6" as OperationId;
const mark: UndoMark = { operation: OPERATION, untilMs: 600_000 };
const NO_RETENTION = { completionRetentionMs: 0, journalRetentionMs: 0 };

const killOf = (id: InvocationId, undo: UndoMark | undefined = mark): PartitionCommand => ({ kind: "kill", id, undo });
const undoOf = (id: InvocationId, operation = OPERATION): PartitionCommand => ({ kind: "undo", id, operation, sink: undefined });

function undone(partition: MemoryPartition, id: InvocationId, operation = OPERATION): UndoAnswer {
  const replies = partition.playAll(undoOf(id, operation)).effects.flatMap((effect) => {
    return effect.kind === "reply" && effect.answer.kind === "undo" ? [effect.answer] : [];
  });
  expect(brokenInvariants(partition.snapshot())).toEqual([]);
  return replies[0] as UndoAnswer;
}

function typesOf(partition: MemoryPartition, id: InvocationId): number[] {
  const { length } = partition.invocation(id)?.journal ?? { length: 0 };
  return partition.journalOf(id, length).map((entry) => entry?.type ?? -1);
}

/** `O/k/h` with one stored step, suspended in a sleep until 60,000. */
function asleep(retention: object = NO_RETENTION): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, target: objectTarget("k"), ...retention })));
  partition.play(pinOf(ID, 1));
  partition.play(runOf(ID, 1, 1));
  partition.play(proposeOf(ID, 1, 1, { kind: "value", value: utf8("step") }));
  partition.play(sleepOf(ID, 1, 2, 60_000));
  partition.play(suspendOf(ID, 1, [2], { receivedNotificationCount: 1 }));
  return partition;
}

describe.each([
  ["without retention", NO_RETENTION],
  ["with retention", {}],
])("a killed invocation %s", (_, retention) => {
  test("continues from its journal under a new run number", () => {
    const partition = asleep(retention);
    const before = typesOf(partition, ID);
    partition.playAll(killOf(ID));
    expect(undone(partition, ID)).toEqual({ kind: "undo", result: "undone", notified: [], isClientNotified: true });
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2, pinned: { protocolVersion: 6 } });
    expect(typesOf(partition, ID)).toEqual(before);
    expect(partition.lock("O", "k")?.holder).toBe(ID);
  });

  test("is undone once: a second request changes nothing", () => {
    const partition = asleep(retention);
    partition.playAll(killOf(ID));
    undone(partition, ID);
    expect(undone(partition, ID).result).toBe("alreadyUndone");
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2 });
  });

  test("fires the sleep that ended meanwhile", () => {
    const partition = asleep(retention);
    partition.playAll(killOf(ID));
    partition.nowMs = 70_000;
    const timer = { kind: "sleep", dueAtMs: 60_000, id: ID, sequence: 2 } as const;
    partition.playAll({ kind: "timerFired", id: ID, timer });
    undone(partition, ID);
    expect(partition.hasTimer(timer)).toBe(true);
    partition.playAll({ kind: "timerFired", id: ID, timer });
    expect(typesOf(partition, ID).at(-1)).toBe(MessageType.SleepCompletion);
  });

  test("keeps a signal that arrived meanwhile", () => {
    const partition = asleep(retention);
    partition.playAll(killOf(ID));
    partition.playAll({ kind: "signal", id: ID, signal: { kind: "signalIndex", index: 17 }, result: voidResult });
    undone(partition, ID);
    expect(typesOf(partition, ID).at(-1)).toBe(MessageType.Signal);
  });

  test("waits in the queue when its lock was given to another, and takes completions there", () => {
    const partition = asleep(retention);
    partition.play(invokeOf(someFacts({ id: NEXT, target: objectTarget("k"), ...NO_RETENTION })));
    partition.playAll(killOf(ID));
    expect(partition.lock("O", "k")?.holder).toBe(NEXT);
    undone(partition, ID);
    expect(partition.invocation(ID)?.status).toBe("inboxed");
    partition.playAll({ kind: "timerFired", id: ID, timer: { kind: "sleep", dueAtMs: 60_000, id: ID, sequence: 2 } });
    partition.play(outputOf(NEXT, 1, "out"));
    partition.playAll(endOf(NEXT, 1));
    expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2 });
    expect(typesOf(partition, ID).at(-1)).toBe(MessageType.SleepCompletion);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });
});

test("without a mark, or after its time, nothing is kept", () => {
  for (const undo of [undefined, { operation: OPERATION, untilMs: 1_000 }]) {
    const partition = asleep();
    partition.playAll({ kind: "kill", id: ID, undo });
    expect(undone(partition, ID).result).toBe("notKept");
    expect(partition.undo.isEmpty).toBe(true);
  }
  const expired = asleep();
  expired.playAll(killOf(ID));
  expired.nowMs = mark.untilMs;
  expect(undone(expired, ID).result).toBe("expired");
  expired.play({ kind: "expireUndo", id: ID });
  expect(expired.undo.isEmpty).toBe(true);
});

test("an invocation that waited for its lock waits again, one that was delayed starts at its time", () => {
  const partition = asleep();
  partition.play(invokeOf(someFacts({ id: NEXT, target: objectTarget("k") })));
  partition.playAll(killOf(NEXT));
  expect(partition.invocation(NEXT)).toBeUndefined();
  undone(partition, NEXT);
  expect(partition.invocation(NEXT)?.status).toBe("inboxed");

  partition.play(invokeOf(someFacts({ id: CHILD, executionTimeMs: 90_000 })));
  partition.playAll({ kind: "cancel", id: CHILD, undo: mark });
  undone(partition, CHILD);
  expect(partition.invocation(CHILD)?.status).toBe("scheduled");
  partition.nowMs = 90_000;
  partition.playAll({ kind: "timerFired", id: CHILD, timer: { kind: "start", dueAtMs: 90_000, id: CHILD, sequence: 0 } });
  expect(partition.invocation(CHILD)).toMatchObject({ status: "invoked", run: 1 });
});

/** `S/h` that waits for its call of `CHILD`, which runs. */
function calling(over: object = NO_RETENTION, isAttached = false): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, ...NO_RETENTION })));
  partition.play(pinOf(ID, 1));
  const callee = someFacts({
    id: CHILD,
    ...over,
    source: { kind: "service", callerId: ID, callerTarget: objectTarget("k") },
  });
  partition.playAll(callOf(ID, 1, callee, 1, 2));
  if (isAttached) partition.playAll(attachOf(ID, 1, CHILD, 3));
  partition.play(suspendOf(ID, 1, [2], { receivedNotificationCount: 1 }));
  return partition;
}

const CALLER = { kind: "call", callerId: ID, callerGeneration: undefined, completionId: 2 } as const;
const lastOf = (partition: MemoryPartition): number | undefined => typesOf(partition, ID).at(-1);

test.each([
  ["the caller is killed, which reaches the callee", [ID]],
  ["the callee is killed before its caller", [CHILD, ID]],
  ["the caller is killed before its callee", [ID, CHILD]],
])("when %s, undoing it restores both, and the caller gets the result once", (_, killed) => {
  for (const order of [killed, [...killed].reverse()]) {
    const partition = calling();
    for (const id of killed) partition.playAll(killOf(id));
    expect(partition.invocations.size).toBe(0);
    for (const id of order) undone(partition, id);
    expect(partition.invocation(CHILD)).toMatchObject({ status: "invoked", run: 2 });
    expect(lastOf(partition)).toBe(MessageType.CallInvocationIdCompletion);
    partition.play(outputOf(CHILD, 2, "out"));
    partition.playAll(endOf(CHILD, 2));
    expect(typesOf(partition, ID).filter((type) => type === MessageType.CallCompletion)).toHaveLength(1);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  }
});

test("a caller that received the end keeps it: it is named, and the callee's result is not delivered to it", () => {
  const partition = calling();
  partition.playAll(killOf(CHILD));
  expect(lastOf(partition)).toBe(MessageType.CallCompletion);
  expect(undone(partition, CHILD)).toMatchObject({ result: "undone", notified: [ID], isClientNotified: false });
  partition.play(outputOf(CHILD, 2, "out"));
  partition.playAll(endOf(CHILD, 2));
  expect(typesOf(partition, ID).filter((type) => type === MessageType.CallCompletion)).toHaveLength(1);
});

test("a result that arrives between the kill and the undo of the caller is kept", () => {
  const partition = calling();
  partition.play(killOf(ID)); // The kill of the callee is on its way.
  partition.play(outputOf(CHILD, 1, "out"));
  partition.playAll(endOf(CHILD, 1));
  undone(partition, ID);
  expect(lastOf(partition)).toBe(MessageType.CallCompletion);
});

test("a caller whose callee cannot be restored gets the failure instead of waiting for ever", () => {
  const partition = calling();
  partition.play(killOf(ID));
  partition.playAll({ kind: "kill", id: CHILD, undo: { operation: OTHER, untilMs: 1 } });
  // The callee notified the caller of its end by the other operation; without that, the undo does.
  undone(partition, ID);
  expect(lastOf(partition)).toBe(MessageType.CallCompletion);
});

test.each([
  ["cannot be restored gets the failure", 1],
  ["is restored gets the result", mark.untilMs],
])("a caller that is also attached to a callee which %s for its call and for its attachment", (_, untilMs) => {
  const partition = calling(NO_RETENTION, true);
  partition.play(killOf(ID));
  partition.playAll(killOf(CHILD, { ...mark, untilMs }));
  undone(partition, ID);
  if (partition.invocation(CHILD) !== undefined) {
    partition.play(outputOf(CHILD, 2, "out"));
    partition.playAll(endOf(CHILD, 2));
  }
  expect(typesOf(partition, ID).slice(-2)).toEqual([MessageType.CallCompletion, MessageType.AttachInvocationCompletion]);
});

describe("a caller whose callee's id was used again meanwhile", () => {
  const used = { ...NO_RETENTION, idempotencyKey: "key" };
  const again = someFacts({ id: CHILD, ...used, createdAtMs: 2_000 });

  test.each([
    ["is kept", mark.untilMs],
    ["has expired", 1_500],
    ["was not kept", 1],
  ])("gets the failure of the former one when its record %s, and not the result of the later one", (_, untilMs) => {
    const partition = calling(used);
    partition.play(killOf(ID)); // The kill of the callee is on its way.
    partition.playAll(killOf(CHILD, { ...mark, untilMs }));
    partition.play(invokeOf(again));
    partition.nowMs = 1_600;
    undone(partition, ID);
    expect(partition.invocation(CHILD)).toMatchObject({ run: 1, sinks: [], facts: { createdAtMs: 2_000 } });
    partition.play(outputOf(CHILD, 1, "later"));
    partition.playAll(endOf(CHILD, 1));
    expect(typesOf(partition, ID).filter((type) => type === MessageType.CallCompletion)).toHaveLength(1);
    const entries = partition.journalOf(ID, partition.invocation(ID)?.journal.length ?? 0);
    expect(new TextDecoder().decode(entries.at(-1)?.body)).toContain("killed");
  });

  test("is not attached to it when the callee was restored before and has ended", () => {
    const partition = calling(used);
    partition.playAll(killOf(ID));
    undone(partition, ID);
    partition.play(outputOf(CHILD, 2, "out"));
    partition.playAll(endOf(CHILD, 2));
    partition.play(invokeOf(again));
    partition.playAll({ kind: "undo", id: CHILD, operation: OPERATION, sink: CALLER });
    expect(partition.invocation(CHILD)).toMatchObject({ sinks: [], facts: { createdAtMs: 2_000 } });
    expect(typesOf(partition, ID).filter((type) => type === MessageType.CallCompletion)).toHaveLength(1);
  });
});

test("an undo that reaches a restored callee after its end gives its caller no second completion", () => {
  const partition = calling({});
  partition.playAll(killOf(ID));
  undone(partition, ID);
  partition.play(outputOf(CHILD, 2, "out"));
  partition.playAll(endOf(CHILD, 2));
  partition.playAll({ kind: "undo", id: CHILD, operation: OPERATION, sink: CALLER });
  expect(typesOf(partition, ID).filter((type) => type === MessageType.CallCompletion)).toHaveLength(1);
});

test("a new invocation under the same id is a conflict and stays as it is", () => {
  const partition = new MemoryPartition();
  const facts = someFacts({ id: ID, idempotencyKey: "key", ...NO_RETENTION });
  partition.play(invokeOf(facts));
  partition.playAll(killOf(ID));
  partition.play(invokeOf({ ...facts, createdAtMs: 2_000 }));
  expect(undone(partition, ID).result).toBe("conflict");
  expect(partition.invocation(ID)).toMatchObject({ run: 1, facts: { createdAtMs: 2_000 } });
});

test("a killed workflow run gets its state and its promises back, and the value that a promise got meanwhile", () => {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, target: workflowTarget("k"), ...NO_RETENTION })));
  partition.play(setStateOf(ID, 1, "name", "value"));
  partition.play(getPromiseOf(ID, 1, "p", 1));
  partition.playAll(killOf(ID));
  expect(partition.state("W", "k", "name")).toBeUndefined();
  partition.play(invokeOf(someFacts({ id: NEXT, target: workflowTarget("k", "shared") })));
  partition.playAll(completePromiseOf(NEXT, 1, "p", 1, { kind: "value", value: utf8("done") }));
  undone(partition, ID);
  expect(partition.state("W", "k", "name")).toEqual(utf8("value"));
  expect(typesOf(partition, ID).at(-1)).toBe(MessageType.GetPromiseCompletion);
});

test("a purged invocation is stored again, with its journal and the end of its retention", () => {
  const partition = asleep({});
  partition.playAll({ kind: "timerFired", id: ID, timer: { kind: "sleep", dueAtMs: 60_000, id: ID, sequence: 2 } });
  partition.play(outputOf(ID, 2, "out"));
  partition.playAll(endOf(ID, 2));
  const before = { invocation: partition.invocation(ID), timers: [...partition.timers.keys()], types: typesOf(partition, ID) };
  partition.playAll({ kind: "purge", id: ID, undo: mark });
  expect(partition.invocations.size + partition.entries.size + partition.timers.size).toBe(0);
  expect(undone(partition, ID)).toMatchObject({ result: "undone", isClientNotified: false });
  expect(partition.invocation(ID)).toEqual(before.invocation);
  expect([...partition.timers.keys()]).toEqual(before.timers);
  expect(typesOf(partition, ID)).toEqual(before.types);
});

test("a kill that is repeated after its undo changes nothing, and neither does a purge", () => {
  const partition = asleep({});
  partition.playAll(killOf(ID));
  undone(partition, ID);
  expect(partition.playAll(killOf(ID)).effects).toEqual([{ kind: "reply", answer: { kind: "done" } }]);
  expect(partition.invocation(ID)).toMatchObject({ status: "invoked", run: 2 });
  partition.playAll(killOf(ID, { ...mark, operation: OTHER }));
  const purge: PartitionCommand = { kind: "purge", id: ID, undo: mark };
  partition.playAll(purge);
  expect(partition.invocation(ID)?.status).toBe("completed");
});

test("a cancellation that the handler gets is not undone", () => {
  const partition = asleep();
  partition.playAll({ kind: "cancel", id: ID, undo: mark });
  expect(undone(partition, ID).result).toBe("notKept");
  expect(lastOf(partition)).toBe(MessageType.Signal);
});
