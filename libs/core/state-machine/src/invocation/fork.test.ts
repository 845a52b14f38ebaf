import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { encodeCompletion, MessageType, voidResult } from "@perdure/service-protocol";
import type { ForkEdits, RestartAsNew } from "../command.js";
import { brokenInvariants } from "../invariants.js";
import {
  anId,
  endOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  pinOf,
  proposeOf,
  runOf,
  sleepOf,
  someFacts,
  workflowTarget,
} from "../testing/index.js";

const ID = anId(1);
const NEW = anId(2);
const NO_EDITS: ForkEdits = { editedSteps: [], replaced: [], added: [] };

/** 0 Input  1 Run(1)  2 RunCompletion(1)  3 Sleep(2), which runs. */
function source(change: Parameters<typeof someFacts>[0] = {}): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, ...change })));
  partition.play(pinOf(ID, 1));
  partition.play(runOf(ID, 1, 1));
  partition.play(proposeOf(ID, 1, 1, { kind: "value", value: utf8("ran") }));
  partition.play(sleepOf(ID, 1, 2, 60_000));
  return partition;
}

const fork = (change: Partial<RestartAsNew> = {}): RestartAsNew => ({
  kind: "restartAsNew",
  id: ID,
  newId: NEW,
  from: 2,
  moveTo: undefined,
  keepDeployment: true,
  fork: NO_EDITS,
  ...change,
});

const answer = (partition: MemoryPartition, command: RestartAsNew) =>
  partition.play(command).effects.find((effect) => effect.kind === "reply")?.answer;

const bodies = (partition: MemoryPartition) =>
  Array.from({ length: partition.invocation(NEW)?.journal.length ?? 0 }, (_, index) => partition.entry(NEW, index)?.body);

describe("forking", () => {
  test.each([
    ["running", () => undefined],
    ["paused", (partition: MemoryPartition) => partition.playAll({ kind: "pause", id: ID })],
    ["killed", (partition: MemoryPartition) => partition.playAll({ kind: "kill", id: ID })],
  ])("an invocation that is %s starts another one, and leaves the source as it is", (_state, prepare) => {
    const partition = source();
    prepare(partition);
    const before = partition.invocation(ID);
    expect(answer(partition, fork())).toEqual({ kind: "accepted" });
    expect(partition.invocation(ID)).toEqual(before);
    expect(partition.invocation(NEW)).toMatchObject({
      status: "invoked",
      journal: { length: 3, commands: 2, notifications: 1 },
      facts: { source: { kind: "restart", from: ID }, fork: { atEntry: 2, editedSteps: [] } },
    });
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("an invocation that runs stays refused without fork: a restart is for completed ones", () => {
    expect(answer(source(), fork({ fork: undefined }))).toEqual({ kind: "stillRunning" });
  });

  test("replaces a result that is in the prefix, or follows it", () => {
    const replaced = [{ index: 2, body: encodeCompletion(1, { kind: "value", value: utf8("edited") }) }];
    for (const from of [1, 2]) {
      const partition = source();
      partition.play(fork({ from, fork: { editedSteps: [1], replaced, added: [] } }));
      expect(bodies(partition)[2]).toEqual(replaced[0]?.body);
      expect(partition.entry(ID, 2)?.body).not.toEqual(replaced[0]?.body);
      expect(partition.invocation(NEW)?.facts.fork).toEqual({ atEntry: from, editedSteps: [1] });
    }
  });

  test("is refused after a step without a result, and accepted with a result for it", () => {
    const added = [{ type: MessageType.SleepCompletion, body: encodeCompletion(2, voidResult) }];
    expect(answer(source(), fork({ from: 3 }))).toEqual({ kind: "notRestartable", reason: "incompletePrefix" });
    const partition = source();
    expect(answer(partition, fork({ from: 3, fork: { editedSteps: [3], replaced: [], added } }))).toEqual({ kind: "accepted" });
    expect(bodies(partition)[4]).toEqual(added[0]?.body);
    expect(partition.invocation(NEW)?.journal).toMatchObject({ length: 5, notifications: 2 });
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("a result that arrived between the request and its turn does not stand in the journal twice", () => {
    const added = [{ type: MessageType.SleepCompletion, body: encodeCompletion(2, voidResult) }];
    const partition = source();
    partition.nowMs = 60_000;
    partition.play({ kind: "timerFired", id: ID, timer: { dueAtMs: 60_000, kind: "sleep", id: ID, sequence: 2 } });
    expect(answer(partition, fork({ from: 3, fork: { editedSteps: [3], replaced: [], added } }))).toEqual({ kind: "accepted" });
    expect(partition.invocation(NEW)?.journal.length).toBe(5);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("waits for the object that its source holds, like any call", () => {
    const partition = source({ target: objectTarget("k") });
    partition.play(fork());
    expect(partition.invocation(NEW)?.status).toBe("inboxed");
    partition.play(outputOf(ID, 1, "out"));
    partition.play(endOf(ID, 1));
    expect(partition.invocation(NEW)?.status).toBe("invoked");
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test("is refused for a workflow, which runs once for its key, and for an invocation that has not begun", () => {
    expect(answer(source({ target: workflowTarget("w", "workflow") }), fork())).toEqual({
      kind: "notRestartable",
      reason: "workflow",
    });
    const partition = source({ target: objectTarget("k") });
    partition.play(invokeOf(someFacts({ id: anId(3), target: objectTarget("k") })));
    expect(answer(partition, fork({ id: anId(3), from: 0 }))).toEqual({ kind: "notStarted" });
  });
});
