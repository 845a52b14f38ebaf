import { describe, expect, test } from "@jest/globals";
import { randomSeedOf, utf8 } from "@perdure/base";
import { MessageType, voidResult } from "@perdure/service-protocol";
import type { RestartAsNew } from "../command.js";
import type { CommandAnswer } from "../effect.js";
import { brokenInvariants } from "../invariants.js";
import {
  anId,
  callOf,
  DEPLOYMENT,
  endOf,
  getPromiseOf,
  invokeOf,
  MemoryPartition,
  objectTarget,
  outputOf,
  pinOf,
  proposeOf,
  runOf,
  sendSignalOf,
  sleepOf,
  someFacts,
  workflowTarget,
} from "../testing/index.js";

const ID = anId(1);
const NEW = anId(2);
const CALLEE = anId(3);

/**
 *   0 Input  1 Run(1)  2 Call(2, 3)  3 callee's id(2)  4 RunCompletion(1)  5 Signal 17  6 CallCompletion(3)  7 Sleep(4)
 *   8 SendSignal  9 Output
 */
function source(change: Parameters<typeof someFacts>[0] = {}): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: ID, idempotencyKey: "key", requestId: 4, ...change })));
  partition.play(pinOf(ID, 1));
  partition.play(runOf(ID, 1, 1));
  partition.play(callOf(ID, 1, someFacts({ id: CALLEE }), 2, 3));
  partition.play(proposeOf(ID, 1, 1, { kind: "value", value: utf8("ran") }));
  partition.play({ kind: "signal", id: ID, signal: { kind: "signalIndex", index: 17 }, result: voidResult });
  partition.play(
    invokeOf(someFacts({ id: CALLEE }), { kind: "call", callerId: ID, callerGeneration: undefined, completionId: 3 }),
  );
  partition.playAll({ kind: "kill", id: CALLEE });
  partition.play(sleepOf(ID, 1, 4, 60_000));
  partition.play(sendSignalOf(ID, 1, CALLEE, { kind: "signalName", name: "x" }, voidResult));
  partition.play(outputOf(ID, 1, "out"));
  partition.play(endOf(ID, 1));
  return partition;
}

const restart = (change: Partial<RestartAsNew> = {}): RestartAsNew => ({
  kind: "restartAsNew",
  id: ID,
  newId: NEW,
  from: 0,
  moveTo: undefined,
  keepDeployment: true,
  ...change,
});

function answer(partition: MemoryPartition, command: RestartAsNew): CommandAnswer | undefined {
  return partition.play(command).effects.find((effect) => effect.kind === "reply")?.answer;
}

const types = (partition: MemoryPartition): readonly (number | undefined)[] =>
  Array.from({ length: partition.invocation(NEW)?.journal.length ?? 0 }, (_, index) => partition.entry(NEW, index)?.type);

const { Input, Run, Call, RunCompletion, CallCompletion, CallInvocationIdCompletion, Signal } = MessageType;

describe("restarting as new", () => {
  test("from the beginning copies the Input and nothing else", () => {
    const partition = source();
    const { effects } = partition.play(restart());
    expect(effects.map((effect) => effect.kind)).toEqual(["startRun", "reply"]);
    expect(types(partition)).toEqual([Input]);
    expect(partition.entry(NEW, 0)?.body).toEqual(partition.entry(ID, 0)?.body);
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test.each([
    [1, [Input, Run, RunCompletion]],
    [2, [Input, Run, Call, CallInvocationIdCompletion, RunCompletion, CallCompletion]],
    [3, [Input, Run, Call, CallInvocationIdCompletion, RunCompletion, CallCompletion]],
    [4, [Input, Run, Call, CallInvocationIdCompletion, RunCompletion, CallCompletion]],
    [5, [Input, Run, Call, CallInvocationIdCompletion, RunCompletion, Signal, CallCompletion]],
    [6, [Input, Run, Call, CallInvocationIdCompletion, RunCompletion, Signal, CallCompletion]],
  ])("from %i copies the entries up to it, the later completions of their commands, and nothing else", (from, copied) => {
    const partition = source();
    expect(answer(partition, restart({ from }))).toEqual({ kind: "accepted" });
    expect(types(partition)).toEqual(copied);
    const notifications = copied.filter((type) => type >= 0x8000).length;
    const commands = copied.length - notifications;
    expect(partition.invocation(NEW)?.journal).toEqual({
      length: copied.length,
      commands,
      notifications,
      outputIndex: -1,
      hasEvents: false,
    });
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test.each([7, 8, 9])("from %i is refused: the sleep before it has not ended", (from) => {
    const partition = source();
    expect(answer(partition, restart({ from }))).toEqual({ kind: "notRestartable", reason: "incompletePrefix" });
    expect(partition.invocation(NEW)).toBeUndefined();
  });

  test.each([-1, 10, 1_000])("from %i is refused: there is no such entry", (from) => {
    expect(answer(source(), restart({ from }))).toEqual({ kind: "notRestartable", reason: "incompletePrefix" });
  });

  test("does not repeat the actions of the copied commands", () => {
    expect(source().play(restart({ from: 6 })).sent).toEqual([]);
  });

  test("makes a separate invocation: without callers, with an id that is not a key, and with its own history", () => {
    const partition = source();
    partition.nowMs = 9_000;
    partition.play(restart());
    const { facts, sinks, run } = partition.invocation(NEW) ?? {};
    expect(facts).toEqual({
      ...someFacts({ id: NEW }),
      source: { kind: "restart", from: ID },
      createdAtMs: 9_000,
      completionRetentionMs: 60_000,
      journalRetentionMs: 60_000,
    });
    expect([sinks, run]).toEqual([[], 1]);
  });

  test("keeps the random seed only where it keeps entries that were drawn from it", () => {
    const partition = source();
    partition.play(restart());
    expect(partition.invocation(NEW)?.facts.randomSeed).toBeUndefined();
    partition.play(restart({ from: 1, newId: anId(4) }));
    expect(partition.invocation(anId(4))?.facts.randomSeed).toBe(randomSeedOf(ID));
    partition.play(outputOf(anId(4), 1, "out"));
    partition.play(endOf(anId(4), 1));
    partition.play(restart({ id: anId(4), newId: anId(5), from: 1 }));
    expect(partition.invocation(anId(5))?.facts.randomSeed).toBe(randomSeedOf(ID));
  });

  test("stays on its deployment, moves to another, or chooses the latest with its first attempt", () => {
    const elsewhere = "dp_1other" as typeof DEPLOYMENT;
    const pinned = (change: Partial<RestartAsNew>) => {
      const partition = source();
      partition.play(restart(change));
      return partition.invocation(NEW)?.pinned;
    };
    expect(pinned({ keepDeployment: true })).toEqual({ deploymentId: DEPLOYMENT, protocolVersion: 6 });
    expect(pinned({ keepDeployment: false, moveTo: elsewhere })).toEqual({ deploymentId: elsewhere, protocolVersion: 6 });
    expect(pinned({ keepDeployment: false, moveTo: undefined })).toBeUndefined();
  });

  test("requested twice happens once", () => {
    const partition = source();
    partition.play(restart());
    const { mutations, effects } = partition.play(restart());
    expect(mutations).toEqual([]);
    expect(effects).toEqual([{ kind: "reply", answer: { kind: "accepted" } }]);
  });

  test("requested twice is accepted twice, also when the source is purged meanwhile", () => {
    const partition = source();
    partition.play(restart());
    partition.play({ kind: "purge", id: ID });
    expect(partition.play(restart()).effects).toEqual([{ kind: "reply", answer: { kind: "accepted" } }]);
  });

  test("waits for the object like any other call", () => {
    const partition = source({ target: objectTarget("k") });
    const holder = anId(7);
    partition.play(invokeOf(someFacts({ id: holder, target: objectTarget("k") })));
    partition.play(restart({ from: 1 }));
    expect(partition.invocation(NEW)).toMatchObject({ status: "inboxed", journal: { length: 3 } });
    partition.play({ kind: "kill", id: holder });
    expect(partition.invocation(NEW)?.status).toBe("invoked");
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
  });

  test.each(["workflow", "shared"] as const)("is refused for a workflow (%s handler)", (handlerType) => {
    const partition = source({ target: workflowTarget("w", handlerType) });
    expect(answer(partition, restart())).toEqual({ kind: "notRestartable", reason: "workflow" });
  });

  test("a promise without completion is missing as well", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: ID })));
    partition.play(getPromiseOf(ID, 1, "p", 1));
    partition.play({ kind: "kill", id: ID });
    expect(answer(partition, restart({ from: 1 }))).toEqual({ kind: "notRestartable", reason: "incompletePrefix" });
  });
});
