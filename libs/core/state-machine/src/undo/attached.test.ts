/** A restored invocation never waits for ever for one that it attached to and did not call. */
import { describe, expect, test } from "@jest/globals";
import type { InvocationId, OperationId } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import type { PartitionCommand, UndoMark } from "../command.js";
import { brokenInvariants } from "../invariants.js";
import { anId, attachOf, endOf, invokeOf, MemoryPartition, outputOf, pinOf, someFacts, suspendOf } from "../testing/index.js";

const ID = anId(1);
const TARGET = anId(2);
const OPERATION = "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId;
const OTHER = "op_15ChR1PDwZt22Rn2lfZrRo6" as OperationId;
const mark: UndoMark = { operation: OPERATION, untilMs: 600_000 };
const NO_RETENTION = { completionRetentionMs: 0, journalRetentionMs: 0 };

const killOf = (id: InvocationId, undo: UndoMark = mark): PartitionCommand => ({ kind: "kill", id, undo });

function undo(partition: MemoryPartition, ids: readonly InvocationId[]): void {
  for (const id of ids) partition.playAll({ kind: "undo", id, operation: OPERATION, sink: undefined });
  expect(brokenInvariants(partition.snapshot())).toEqual([]);
}

/** `S/h` under `ID` that is attached to `TARGET`, which another client started. */
function attachedTo(over: object = NO_RETENTION): MemoryPartition {
  const partition = new MemoryPartition();
  partition.play(invokeOf(someFacts({ id: TARGET, ...over })));
  partition.play(invokeOf(someFacts({ id: ID, ...NO_RETENTION })));
  partition.play(pinOf(ID, 1));
  partition.playAll(attachOf(ID, 1, TARGET, 1));
  partition.play(suspendOf(ID, 1, [1], { receivedNotificationCount: 0 }));
  return partition;
}

const attachmentsOf = (partition: MemoryPartition): string[] => {
  const entries = partition.journalOf(ID, partition.invocation(ID)?.journal.length ?? 0);
  const completions = entries.filter((entry) => entry?.type === MessageType.AttachInvocationCompletion);
  return completions.map((entry) => (/killed|not found|out/.exec(new TextDecoder().decode(entry?.body)) ?? ["other"])[0]);
};

describe("an invocation that is attached to one that it did not call", () => {
  describe.each([
    ["without retention", NO_RETENTION],
    ["with retention", {}],
    ["with an idempotency key", { idempotencyKey: "key" }],
  ])("%s", (_, over) => {
    test.each([
      ["before", [TARGET, ID]],
      ["after", [ID, TARGET]],
    ])("gets its end when the other one, killed %s it, has no record", (_, killed) => {
      for (const order of [killed, [...killed].reverse()]) {
        const partition = attachedTo(over);
        for (const id of killed) partition.playAll(killOf(id, id === TARGET ? { ...mark, untilMs: 1 } : mark));
        undo(partition, order);
        expect(attachmentsOf(partition)).toEqual(["killed"]);
      }
    });

    test("gets the result once when both are restored, in every order", () => {
      for (const killed of [
        [TARGET, ID],
        [ID, TARGET],
      ]) {
        for (const order of [killed, [...killed].reverse()]) {
          const partition = attachedTo(over);
          for (const id of killed) partition.playAll(killOf(id));
          undo(partition, order);
          expect(attachmentsOf(partition)).toEqual([]);
          partition.play(outputOf(TARGET, 2, "out"));
          partition.playAll(endOf(TARGET, 2));
          expect(attachmentsOf(partition)).toEqual(["out"]);
        }
      }
    });

    test("waits for it as before, when the operation did not reach the other one", () => {
      const partition = attachedTo(over);
      partition.playAll(killOf(ID));
      undo(partition, [ID]);
      expect(partition.invocation(TARGET)).toMatchObject({
        status: "invoked",
        run: 1,
        sinks: [{ callerId: ID, completionId: 1 }],
      });
      partition.play(outputOf(TARGET, 1, "out"));
      partition.playAll(endOf(TARGET, 1));
      expect(attachmentsOf(partition)).toEqual(["out"]);
    });

    test("keeps the end of the other one that an earlier operation caused, which is not undone", () => {
      const partition = attachedTo(over);
      partition.playAll(killOf(TARGET, { ...mark, operation: OTHER }));
      expect(attachmentsOf(partition)).toEqual(["killed"]);
      partition.playAll(killOf(ID));
      undo(partition, [ID]);
      expect(attachmentsOf(partition)).toEqual(["killed"]);
    });
  });

  test("waits for the restored one that its attachment reached after the kill", () => {
    const partition = new MemoryPartition();
    partition.play(invokeOf(someFacts({ id: TARGET })));
    partition.play(invokeOf(someFacts({ id: ID, ...NO_RETENTION })));
    partition.play(pinOf(ID, 1));
    const [attachment] = partition.play(attachOf(ID, 1, TARGET, 1)).sent;
    partition.playAll(killOf(TARGET));
    partition.playAll(attachment!);
    partition.playAll(killOf(ID));
    undo(partition, [TARGET, ID]);
    partition.play(outputOf(TARGET, 2, "out"));
    partition.playAll(endOf(TARGET, 2));
    expect(attachmentsOf(partition)).toEqual(["out"]);
  });
});
