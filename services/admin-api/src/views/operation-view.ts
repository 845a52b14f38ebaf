/** An operation that can be undone, as JSON. */
import type { OperationShape } from "@perdure/admin-contract";
import { operationStateOf } from "../operations/operation-state.js";
import type { OperationState } from "../operations/operations.js";
import { timeView } from "./explain-view.js";
import type { ViewOf } from "./response.js";

type OperationJson = ViewOf<typeof OperationShape>;

export function operationView(operation: OperationState, nowMs: number): OperationJson {
  const { record } = operation;
  const state = operationStateOf(operation, nowMs);
  return {
    id: record.id,
    operation: record.verb,
    invocation_id: record.subject === null && record.batchId === null && record.ids.length === 1 ? (record.ids[0] ?? null) : null,
    subject: record.subject,
    batch_id: record.batchId,
    matched: record.matched,
    started_at: timeView(record.createdAtMs),
    started_by: record.startedBy,
    reason: record.reason,
    state,
    undo_until: timeView(record.untilMs),
    undo_left_ms: state === "undoable" ? Math.max(0, record.untilMs - nowMs) : 0,
    undo: undoOf(operation),
  };
}

function undoOf({ record: { undo }, undoBatch }: OperationState): OperationJson["undo"] {
  if (undo === null) return null;
  return {
    started_at: timeView(undo.startedAtMs),
    batch_id: undo.batchId,
    undone: undoBatch?.succeeded ?? undo.undone,
    failed: undoBatch?.failed ?? undo.failed,
    cannot_be_undone: undo.notes,
  };
}
