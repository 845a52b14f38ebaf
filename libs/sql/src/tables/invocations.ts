/** Why: several tables walk the same invocations; where they are found, and how few a statement needs, is said here. */
import { parseInvocationId, partitionOf } from "@perdure/base";
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
  const ids = allowedValues(hints, "id");
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

function* byId(source: IntrospectionSource, ids: Iterable<string>, isWanted: (status: Status) => boolean): Iterable<Invocation> {
  for (const text of ids) {
    const id = parseInvocationId(text);
    if (!id.ok) continue; // Nothing has such an id: an empty answer is friendlier than an error.
    const invocation = source.store.reads.invocation(partitionOf(id.value, source.partitionCount), id.value);
    if (invocation !== undefined && isWanted(invocation.status)) yield invocation;
  }
}

/** For tables without a status column. */
export const anyStatus = (): boolean => true;
