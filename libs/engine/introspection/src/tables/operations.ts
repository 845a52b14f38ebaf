/** `sys_operation`: changes that can be undone for a while, and their undo. */
import type { OperationRow } from "../ports.js";
import { defineTable } from "../table.js";

export const operation = defineTable<OperationRow>({
  name: "sys_operation",
  readers: {
    id: ({ id }) => id,
    operation: (row) => row.operation,
    target: ({ target }) => target,
    filter: ({ filter }) => filter,
    batch_id: ({ batchId }) => batchId,
    started_by: ({ startedBy }) => startedBy,
    reason: ({ reason }) => reason,
    state: ({ state }) => state,
    started_at: ({ startedAtMs }) => startedAtMs,
    undo_until: ({ undoUntilMs }) => undoUntilMs,
    matched: ({ matchedCount }) => matchedCount,
    undo_started_at: ({ undo }) => undo?.startedAtMs,
    undo_batch_id: ({ undo }) => undo?.batchId,
    undone: ({ undo }) => undo?.undoneCount,
    failed: ({ undo }) => undo?.failedCount,
    cannot_be_undone: ({ undo }) => undo?.cannotBeUndone,
  },
  rows: ({ live }) => live.operations(),
});
