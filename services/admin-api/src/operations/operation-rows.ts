/** The rows of `sys_operation`: operations as flat plain data, for introspection. */
import type { Clock } from "@perdure/base";
import type { OperationRow, OperationsPort } from "@perdure/introspection";
import type { BatchService } from "../batches/batches.js";
import { operationStateOf } from "./operation-state.js";
import type { OperationState, Operations } from "./operations.js";

interface OperationRowsPorts {
  /** Undefined: no operation can be undone, and there are no rows. */
  readonly operations: Operations | undefined;
  readonly batches: Pick<BatchService, "get">;
  readonly clock: Clock;
}

export function operationRows({ operations, batches, clock }: OperationRowsPorts): OperationsPort {
  return {
    async *rows() {
      for (const state of (await operations?.list()) ?? []) {
        const { batchId } = state.record;
        // A batch is deleted some time after its end, and then its condition is not stored any more.
        const batch = batchId === null ? undefined : await batches.get(batchId);
        yield operationRow(state, batch?.filter ?? undefined, clock.nowMs());
      }
    },
  };
}

function operationRow(operation: OperationState, filter: string | undefined, nowMs: number): OperationRow {
  const { record, undoBatch } = operation;
  const { undo } = record;
  return {
    id: record.id,
    operation: record.verb,
    target: record.subject ?? (record.ids.length === 1 ? record.ids[0] : undefined),
    filter,
    batchId: record.batchId ?? undefined,
    startedBy: record.startedBy ?? undefined,
    reason: record.reason ?? undefined,
    state: operationStateOf(operation, nowMs),
    startedAtMs: record.createdAtMs,
    undoUntilMs: record.untilMs,
    matchedCount: record.matched,
    undo:
      undo === null
        ? undefined
        : {
            startedAtMs: undo.startedAtMs,
            batchId: undo.batchId ?? undefined,
            undoneCount: undoBatch?.succeeded ?? undo.undone,
            failedCount: undoBatch?.failed ?? undo.failed,
            cannotBeUndone: undo.notes,
          },
  };
}
