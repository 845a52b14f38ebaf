import { expect, test } from "@jest/globals";
import type { BatchView, OperationView } from "@perdure/admin-client";
import { hasUndo, isWhollyUndone, leftMs, leftText, operationTitle, outcomeText, undoEffect } from "./operation-text.js";

const KILL: OperationView = {
  id: "op_1",
  operation: "kill",
  invocation_id: null,
  subject: null,
  batch_id: "bat_1",
  matched: 412,
  started_at: "2026-11-27T10:00:00Z",
  started_by: "ada",
  reason: null,
  state: "undoable",
  undo_until: "2026-11-27T10:10:00Z",
  undo_left_ms: 598_400,
  undo: null,
};
const UNDO: NonNullable<OperationView["undo"]> = {
  started_at: "2026-11-27T10:01:00Z",
  batch_id: "bat_2",
  undone: 412,
  failed: 0,
  cannot_be_undone: [],
};

test("an operation is named by what it did to how many", () => {
  expect(operationTitle(KILL)).toBe("kill of 412 invocations");
  expect(operationTitle({ operation: "cancel", subject: null, matched: 1 })).toBe("cancellation of 1 invocation");
  expect(operationTitle({ operation: "edit-state", subject: "Counter/a", matched: 1 })).toBe("state edit of Counter/a");
  const deletion = { operation: "delete-schedule", subject: "schedule nightly", matched: 1 } as const;
  expect(operationTitle(deletion)).toBe("deletion of schedule nightly");
  expect(undoEffect("delete-schedule", false)).toMatch(/^The schedule fires again/);
  const cluster = { operation: "delete-kafka-cluster", subject: "Kafka cluster k", matched: 1 } as const;
  expect(operationTitle(cluster)).toBe("deletion of Kafka cluster k");
  expect(undoEffect("delete-kafka-cluster", false)).toMatch(/^The Kafka cluster has its properties again/);
  expect(undoEffect("delete-event-subscription", false)).toMatch(/^The event subscription is there again/);
  expect(undoEffect("edit-state", false)).toMatch(/^The entries that the edit changed get their former values/);
  expect(undoEffect("purge", false)).toBe("Purged invocations are stored again, with their journals and results.");
  expect(undoEffect("kill", true)).toMatch(/continue from their journals.* is stopped first\.$/);
  expect(undoEffect("a new one", false)).toBe("The invocations are stored again as they were.");
});

test("the time left counts down on the clock of the browser, whatever the server's clock is", () => {
  expect(leftMs(KILL, 5_000, 5_000)).toBe(598_400);
  expect(leftMs(KILL, 5_000, 15_000)).toBe(588_400);
  // The clock of a page ticks once a second, and may be behind the answer.
  expect(leftMs(KILL, 5_000, 4_200)).toBe(598_400);
  expect(leftMs(KILL, 0, 700_000)).toBe(0);
  expect(leftMs({ ...KILL, state: "undoing" }, 0, 0)).toBe(0);
  expect([598_400, 59_100, 400].map(leftText)).toEqual(["9 min 59 s", "1 min", "1 s"]);
});

test("the outcome counts what is restored and what is not", () => {
  const EDIT = { operation: "edit-state", subject: "Counter/a" } as const;
  expect(outcomeText(UNDO, KILL)).toBe("412 invocations restored");
  expect(outcomeText({ undone: 1, failed: 3 }, KILL)).toBe("1 invocation restored, 3 not");
  expect(outcomeText({ undone: 0, failed: 0 }, KILL)).toBe("No invocation restored");
  expect(outcomeText({ undone: 1, failed: 0 }, EDIT)).toBe("Counter/a restored");
  expect(outcomeText({ undone: 0, failed: 1 }, EDIT)).toBe("Counter/a not restored");
  expect(outcomeText({ undone: 2, failed: 1 }, { operation: "restart-as-new", subject: null })).toBe(
    "2 invocations ended, 1 not",
  );
});

test("a message closes by itself only when nothing is left to read", () => {
  const undone = (undo: Partial<typeof UNDO>): OperationView => ({
    ...KILL,
    state: "undone",
    undo: { ...UNDO, ...undo },
  });
  expect(isWhollyUndone(undone({}))).toBe(true);
  expect(isWhollyUndone(undone({ failed: 1 }))).toBe(false);
  expect(isWhollyUndone(undone({ undone: 0 }))).toBe(false);
  expect(isWhollyUndone(undone({ cannot_be_undone: ["A client has received its end."] }))).toBe(false);
  expect(isWhollyUndone(KILL)).toBe(false);
  expect(isWhollyUndone({ ...undone({}), state: "undoing" })).toBe(false);
});

test("a batch offers its undo when it changed something that can be restored", () => {
  const batch = { operation: "kill", operation_id: "op_1", state: "finished", succeeded: 2 } as BatchView;
  expect(hasUndo(batch)).toBe(true);
  expect(hasUndo({ ...batch, succeeded: 0 })).toBe(false);
  expect(hasUndo({ ...batch, succeeded: 0, state: "running" })).toBe(true);
  expect(hasUndo({ ...batch, operation: "undo" })).toBe(false);
  expect(hasUndo({ ...batch, operation_id: undefined })).toBe(false);
});
