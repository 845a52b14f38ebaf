/** Why: several tables walk the same invocations; where they are found, and how few a statement needs, is said here. */
import { type InvocationId, parseInvocationId, partitionOf } from "@perdure/base";
import type { Invocation } from "@perdure/partition";
import type { IntrospectionSource } from "../ports.js";
import { allowedValues, type ScanHints } from "../query/hints.js";

type Status = Invocation["status"];

const UNFINISHED: readonly Status[] = ["scheduled", "inboxed", "invoked", "suspended", "paused"];

/**
 * The stored invocations whose status is wanted: by id where the statement names ids (column `id`), otherwise the unfinished and
 * the completed of every partition, each only if wanted.
 */
export async function* findInvocations(
  source: IntrospectionSource,
  hints: ScanHints,
  isWanted: (status: Status) => boolean,
): AsyncIterable<Invocation> {
  const ids = wantedIds(hints);
  if (ids !== undefined) return yield* byId(source, ids, isWanted);
  const unfinished = UNFINISHED.filter(isWanted);
  const status = unfinished.length === 1 ? unfinished[0] : undefined;
  for (let partition = 0; partition < source.partitionCount; partition++) {
    if (unfinished.length > 0) {
      for await (const invocation of source.store.unfinished(partition, status)) {
        if (isWanted(invocation.status)) yield invocation;
      }
    }
    if (isWanted("completed")) yield* source.store.completed(partition);
  }
}

/** The ids that a statement names (column `id`). What is no id is left out: nothing has it, and an empty answer is friendlier than an error. */
export function wantedIds(hints: ScanHints): readonly InvocationId[] | undefined {
  const texts = allowedValues(hints, "id");
  if (texts === undefined) return undefined;
  const ids: InvocationId[] = [];
  for (const text of texts) {
    const id = parseInvocationId(text);
    if (id.ok) ids.push(id.value);
  }
  return ids;
}

function* byId(
  source: IntrospectionSource,
  ids: readonly InvocationId[],
  isWanted: (status: Status) => boolean,
): Iterable<Invocation> {
  for (const id of ids) {
    const invocation = source.store.reads.invocation(partitionOf(id, source.partitionCount), id);
    if (invocation !== undefined && isWanted(invocation.status)) yield invocation;
  }
}

/** For tables without a status column. */
export const anyStatus = (): boolean => true;
