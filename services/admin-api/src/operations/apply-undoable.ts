/** Applies a verb to invocations that the request names, as an operation that can be undone. */
import { BATCH_NOTE_CHARS_MAX, OPERATION_HEADER, UNDOABLE_VERBS, type UndoableVerb } from "@perdure/admin-contract";
import { type InvocationId, type OperationId, PerdureError } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import type { UndoMark } from "@perdure/state-machine";
import type { ApiRequest } from "../http/request.js";
import type { VerbOutcome } from "../invocation-operations.js";
import { DELETED_COPIES_BYTES_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";
import type { NewOperation } from "./operations.js";

const UNDOABLE: readonly string[] = UNDOABLE_VERBS;

export function isUndoable(verb: string): verb is UndoableVerb {
  return UNDOABLE.includes(verb);
}

/** The sender of a request, as operations and batches store it. */
export function startedBy(request: ApiRequest): string | undefined {
  return (request.header("x-forwarded-user") ?? request.header("user-agent"))?.slice(0, BATCH_NOTE_CHARS_MAX);
}

export interface Applied<T> {
  readonly result: T;
  /** Names the operation when it can be undone. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * `outcomes` are those of the invocations; when none of them can be undone, the operation is deleted again. Without the store of operations
 * the verb is applied all the same, and cannot be undone: an operator must be able to kill while a database is away.
 */
export async function applyUndoable<T>(
  { operations }: Pick<AdminPorts, "operations">,
  request: ApiRequest,
  verb: string,
  ids: readonly InvocationId[],
  apply: (undo: UndoMark | undefined) => Promise<T>,
  outcomes: (result: T) => readonly VerbOutcome[],
): Promise<Applied<T>> {
  if (!isUndoable(verb) || ids.length === 0) return { result: await apply(undefined), headers: {} };
  const isChanged = (result: T): boolean =>
    outcomes(result).some(({ problem, isFinal }) => problem === undefined && isFinal !== true);
  return asOperation({ operations }, { verb, ids, startedBy: startedBy(request), reason: undefined }, apply, isChanged);
}

/** As `applyUndoable`, for any change. `isChanged`: whether there is something to undo. */
export async function asOperation<T>(
  { operations }: Pick<AdminPorts, "operations">,
  operation: NewOperation,
  apply: (undo: UndoMark | undefined) => Promise<T>,
  isChanged: (result: T) => boolean,
): Promise<Applied<T>> {
  const undo = await operations?.begin(operation).catch(undefinedWhenAway);
  const result = await apply(undo).catch(async (cause) => {
    // Nothing was changed.
    if (undo !== undefined && cause instanceof RegistryRefusal)
      await operations?.discard(undo.operation).catch(undefinedWhenAway);
    throw cause;
  });
  if (operations === undefined || undo === undefined) return { result, headers: {} };
  if (isChanged(result)) return { result, headers: { [OPERATION_HEADER]: undo.operation } };
  await operations.discard(undo.operation).catch(undefinedWhenAway); // It is deleted when its time is over.
  return { result, headers: {} };
}

/** Deletes something with a copy, so that the deletion can be undone. `record`: what is deleted; undefined: it does not exist. */
export function asDeletion<T>(
  ports: Pick<AdminPorts, "operations">,
  request: ApiRequest,
  deletion: Pick<NewOperation, "verb" | "subject" | "matched"> & { readonly record: unknown },
  remove: (undo: OperationId | undefined) => Promise<T>,
): Promise<Applied<T>> {
  const { record, ...named } = deletion;
  if (record === undefined) return remove(undefined).then((result) => ({ result, headers: {} }));
  const copyBytes = JSON.stringify(record).length;
  const operation = { matched: 1, ...named, ids: [], copyBytes, startedBy: startedBy(request), reason: undefined };
  if (copyBytes > DELETED_COPIES_BYTES_MAX) return remove(undefined).then((result) => ({ result, headers: {} }));
  return asOperation(
    ports,
    operation,
    (undo) => remove(undo?.operation),
    () => true,
  );
}

function undefinedWhenAway(cause: unknown): undefined {
  if (!(cause instanceof PerdureError) || cause.http !== 503) throw cause;
}
