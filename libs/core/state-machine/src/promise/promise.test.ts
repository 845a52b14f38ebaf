import { describe, expect, test } from "@jest/globals";
import { type InvocationId, utf8 } from "@perdure/base";
import { decodeNotification, MessageType } from "@perdure/service-protocol";
import type { AppendCommand } from "../command.js";
import { brokenInvariants } from "../invariants.js";
import {
  anId,
  completePromiseOf,
  getPromiseOf,
  invokeOf,
  MemoryPartition,
  peekPromiseOf,
  someFacts,
  suspendOf,
  workflowTarget,
} from "../testing/index.js";

const RUN = anId(1);
const OTHER = anId(2);
const THIRD = anId(3);
const value = (text: string) => ({ kind: "value", value: utf8(text) }) as const;
const rejected = { kind: "failure", failure: { code: 500, message: "rejected", metadata: [] } } as const;
const ALREADY = { code: 409, message: "promise was already completed", metadata: [] };

/** A workflow's run and two shared handlers beside it. */
function workflow(): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: RUN, target: workflowTarget("w") })));
  for (const id of [OTHER, THIRD]) partition.play(invokeOf(someFacts({ id, target: workflowTarget("w", "shared") })));
  return partition;
}

/** Notifications in an invocation's journal. */
function notificationsOf(partition: MemoryPartition, id: InvocationId): unknown[] {
  const length = partition.invocation(id)?.journal.length ?? 0;
  return Array.from({ length }, (_, index) => partition.entry(id, index)).flatMap((entry) =>
    entry !== undefined && entry.type >= 0x8000 ? [decodeNotification(entry.type, entry.body)] : [],
  );
}

describe("a workflow's promise", () => {
  test("that is completed can be read at once, by every handler of the key", () => {
    const partition = workflow();
    partition.playAll(completePromiseOf(OTHER, 1, "p", 1, value("v")));
    partition.play(getPromiseOf(RUN, 1, "p", 1));
    partition.play(peekPromiseOf(THIRD, 1, "p", 1));
    expect(notificationsOf(partition, OTHER)).toMatchObject([
      { type: MessageType.CompletePromiseCompletion, result: { kind: "void" } },
    ]);
    expect(notificationsOf(partition, RUN)).toMatchObject([
      { type: MessageType.GetPromiseCompletion, id: { id: 1 }, result: { kind: "value" } },
    ]);
    expect(notificationsOf(partition, THIRD)).toMatchObject([
      { type: MessageType.PeekPromiseCompletion, id: { id: 1 }, result: { kind: "value" } },
    ]);
  });

  test("that is awaited resumes every listener, each under its own completion id", () => {
    const partition = workflow();
    partition.play(getPromiseOf(RUN, 1, "p", 3));
    partition.play(suspendOf(RUN, 1, [3]));
    partition.play(getPromiseOf(THIRD, 1, "p", 1));
    partition.play(getPromiseOf(THIRD, 1, "p", 2));
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
    partition.playAll(completePromiseOf(OTHER, 1, "p", 1, rejected));
    expect(notificationsOf(partition, RUN)).toMatchObject([
      { type: MessageType.GetPromiseCompletion, id: { id: 3 }, result: { failure: { message: "rejected" } } },
    ]);
    expect(notificationsOf(partition, THIRD)).toMatchObject([{ id: { id: 1 } }, { id: { id: 2 } }]);
    expect(partition.invocation(RUN)).toMatchObject({ status: "invoked", run: 2 });
    expect(partition.promise("W", "w", "p")).toMatchObject({ kind: "completed" });
  });

  test("is completed once: later completions fail, and the first value stays", () => {
    const partition = workflow();
    partition.playAll(completePromiseOf(OTHER, 1, "p", 1, value("first")));
    partition.playAll(completePromiseOf(THIRD, 1, "p", 1, value("second")));
    partition.playAll(completePromiseOf(OTHER, 1, "p", 2, rejected));
    expect(notificationsOf(partition, THIRD)).toMatchObject([{ result: { kind: "failure", failure: ALREADY } }]);
    expect(notificationsOf(partition, OTHER)).toMatchObject([
      { result: { kind: "void" } },
      { result: { kind: "failure", failure: ALREADY } },
    ]);
    const promise = partition.promise("W", "w", "p");
    expect(
      promise?.kind === "completed" && promise.outcome.kind === "success" && Buffer.from(promise.outcome.value).toString(),
    ).toBe("first");
  });

  test("peeked at before it is completed is void, and adds no listener", () => {
    const partition = workflow();
    partition.play(peekPromiseOf(RUN, 1, "p", 1));
    expect(notificationsOf(partition, RUN)).toMatchObject([{ result: { kind: "void" } }]);
    expect(partition.promise("W", "w", "p")).toBeUndefined();
  });

  test("of another name or another key is another promise", () => {
    const partition = workflow();
    const elsewhere = anId(4);
    partition.play(invokeOf(someFacts({ id: elsewhere, target: workflowTarget("w2", "shared") })));
    partition.play(getPromiseOf(RUN, 1, "p", 1));
    partition.playAll(completePromiseOf(elsewhere, 1, "p", 1, value("v")));
    partition.playAll(completePromiseOf(OTHER, 1, "q", 1, value("v")));
    expect(notificationsOf(partition, RUN)).toEqual([]);
  });

  test("outlives its workflow while invocations wait, so that a later run can complete it for them", () => {
    const partition = workflow();
    partition.play(getPromiseOf(RUN, 1, "p", 1));
    partition.play(getPromiseOf(OTHER, 1, "p", 1));
    partition.playAll(completePromiseOf(OTHER, 1, "q", 2, value("v")));
    partition.play({ kind: "kill", id: RUN });
    partition.play({ kind: "purge", id: RUN });
    expect(partition.promisesOf("W", "w")).toEqual(["p"]);
    expect(partition.promise("W", "w", "p")).toMatchObject({ kind: "pending", listeners: [{ id: OTHER }] });
    expect(brokenInvariants(partition.snapshot())).toEqual([]);
    partition.play(invokeOf(someFacts({ id: RUN, target: workflowTarget("w"), createdAtMs: 9_000 })));
    partition.playAll(completePromiseOf(RUN, 1, "p", 1, value("v")));
    expect(notificationsOf(partition, OTHER).at(-1)).toMatchObject({ type: MessageType.GetPromiseCompletion, id: { id: 1 } });
  });

  test("ignores listeners that were killed meanwhile", () => {
    const partition = workflow();
    partition.play(getPromiseOf(THIRD, 1, "p", 1));
    partition.play({ kind: "kill", id: THIRD });
    partition.playAll(completePromiseOf(OTHER, 1, "p", 1, value("v")));
    expect(partition.invocation(THIRD)).toMatchObject({ status: "completed", journal: { length: 2 } });
  });
});

describe("acks of promise commands", () => {
  const acked = (command: AppendCommand): AppendCommand => ({ ...command, ackRequested: true });
  const deliveriesOf = (partition: MemoryPartition, command: AppendCommand) =>
    partition.play(command).effects.flatMap((effect) => (effect.kind === "entryStored" ? [effect.delivery] : []));

  test("follow the completion when it is made in the same turn, and stand alone when it is not", () => {
    const partition = workflow();
    const [nothing, thenAck] = [{ kind: "nothing" }, { kind: "push", thenAck: 1 }];
    expect(deliveriesOf(partition, acked(getPromiseOf(RUN, 1, "p", 1)))).toEqual([{ kind: "ackCommand", commandIndex: 1 }]);
    expect(deliveriesOf(partition, acked(completePromiseOf(OTHER, 1, "q", 1, value("v"))))).toEqual([nothing, thenAck]);
    expect(deliveriesOf(partition, acked(peekPromiseOf(THIRD, 1, "p", 1)))).toEqual([nothing, thenAck]);
    expect(deliveriesOf(partition, acked(getPromiseOf(RUN, 1, "q", 2)))).toEqual([nothing, { kind: "push", thenAck: 2 }]);
  });
});
