/** Undo of deletions: ids of operations, and what restoring did. */
import { type OperationId, parseOperationId } from "@perdure/base";
import type { RestoreOutcome } from "@perdure/metadata";
import { RestoreResult } from "../gen/v1/registry_pb.js";
import { given, named, refuse } from "./checks.js";
import type { FieldCodec } from "./form.js";

export const operationId: FieldCodec<OperationId, string> = {
  to: (id) => id,
  from(text) {
    const parsed = parseOperationId(text);
    return parsed.ok ? parsed.value : refuse("the id of an operation", text);
  },
};

/** The field of a deletion that keeps a copy. */
export function keptUnder(undo: OperationId | undefined) {
  return given("undoOperationId", undo);
}

export function undoOf({ undoOperationId }: { readonly undoOperationId?: string | undefined }): OperationId | undefined {
  return undoOperationId === undefined ? undefined : operationId.from(undoOperationId);
}

const RESULTS: Readonly<Record<RestoreOutcome, RestoreResult>> = {
  restored: RestoreResult.RESTORED,
  alreadyRestored: RestoreResult.ALREADY_RESTORED,
  notKept: RestoreResult.NOT_KEPT,
};

export const restoreOutcome: FieldCodec<RestoreOutcome, RestoreResult> = {
  to: (outcome) => RESULTS[outcome],
  from: (result) => named(RESULTS, result, "the result of an undo"),
};
