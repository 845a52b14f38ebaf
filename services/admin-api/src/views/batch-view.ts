/** A batch, its results and the outcome of a dry run, as JSON. */
import type { BatchResultsShape, BatchShape } from "@perdure/admin-contract";
import type { BatchRecord, BatchResult } from "../batches/record.js";
import { optionalTime, timeView } from "./explain-view.js";
import type { ViewOf } from "./response.js";

export function batchView(record: BatchRecord): ViewOf<typeof BatchShape> {
  const { succeeded, failed, matched, deployment } = record;
  const done = succeeded + failed;
  return {
    id: record.id,
    operation: record.operation,
    state: record.state,
    filter: record.filter,
    deployment: deployment === null ? null : deployment.kind === "id" ? deployment.id : deployment.kind,
    matched,
    more_matched: record.moreMatched,
    done,
    succeeded,
    failed,
    remaining: matched - done,
    started_at: timeView(record.createdAtMs),
    finished_at: optionalTime(record.finishedAtMs ?? undefined),
    started_by: record.startedBy,
    reason: record.reason,
    ...(record.undo === null ? {} : { operation_id: record.undo.operation }),
  };
}

export function resultView({
  id,
  status,
  problem,
  newId,
  note,
}: BatchResult): ViewOf<typeof BatchResultsShape>["results"][number] {
  return {
    invocation_id: id,
    result: problem === undefined ? "succeeded" : "failed",
    status,
    ...(problem === undefined ? {} : { error: problem }),
    ...(newId === undefined ? {} : { new_invocation_id: newId }),
    ...(note === undefined ? {} : { note }),
  };
}
