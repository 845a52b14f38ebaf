/** The state of an operation, as the management API and SQL show it. */
import type { OperationRow } from "@perdure/introspection";
import type { OperationState } from "./operations.js";

/** Whether the undo is over. */
export function isUndone({ record, undoBatch }: OperationState): boolean {
  return record.undo !== null && undoBatch?.state !== "running";
}

export function operationStateOf(operation: OperationState, nowMs: number): OperationRow["state"] {
  const { record } = operation;
  if (record.undo !== null) return isUndone(operation) ? "undone" : "undoing";
  return record.untilMs <= nowMs ? "expired" : "undoable";
}
