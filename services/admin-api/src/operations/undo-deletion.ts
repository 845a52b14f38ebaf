/** Undoes deletions of metadata (deployments, Kafka clusters, subscriptions, schedules, rules), and bounds the copies that they keep. */
import type { Clock } from "@perdure/base";
import { type DocumentWrite, deletedKey, type MetadataStore, RegistryRefusal, type RestoreOutcome } from "@perdure/metadata";
import { RouteError } from "../http/errors.js";
import { DELETED_COPIES_BYTES_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";
import { type OperationRecord, putOperation, type StoredOperation } from "./record.js";

interface RestorePorts {
  readonly registry: Pick<AdminPorts["registry"], "restoreDeleted">;
  readonly schedules: Pick<AdminPorts["schedules"], "restore">;
  readonly clock: Clock;
}

export function isDeletion({ verb }: Pick<OperationRecord, "verb">): boolean {
  return verb.startsWith("delete-");
}

/** Throws RouteError OPS0009 when no copy is left, or when something newer is in the way. */
export async function undoDeletion(ports: RestorePorts, record: OperationRecord): Promise<OperationRecord["undo"]> {
  const startedAtMs = ports.clock.nowMs();
  if ((await restore(ports, record)) === "notKept") {
    throw new RouteError(409, `Nothing is kept of the deletion of ${record.subject}: its copy was dropped.`, "OPS0009");
  }
  return { startedAtMs, batchId: null, undone: record.matched, failed: 0, notes: [] };
}

async function restore({ registry, schedules }: RestorePorts, { id, verb, subject }: OperationRecord): Promise<RestoreOutcome> {
  try {
    return await (verb === "delete-schedule" ? schedules.restore(id) : registry.restoreDeleted(id));
  } catch (cause) {
    if (!(cause instanceof RegistryRefusal)) throw cause;
    throw new RouteError(409, `The deletion of ${subject} is not undone: ${cause.message}.`, "OPS0009");
  }
}

function deletionOf(key: string): DocumentWrite {
  return { kind: "delete", key, expectedVersion: undefined };
}

/** Deletes copies whose time is over, and the oldest until `bytes` more fit. Throws PerdureError when the store is away. */
export async function dropCopies(
  { metadata, clock }: { readonly metadata: Pick<MetadataStore, "write">; readonly clock: Clock },
  stored: readonly StoredOperation[],
  bytes: number,
): Promise<void> {
  const nowMs = clock.nowMs();
  let kept = bytes;
  const newestFirst = stored
    .filter(({ record }) => record.copyBytes > 0)
    .sort(({ record: a }, { record: b }) => b.createdAtMs - a.createdAtMs);
  for (const { record, version } of newestFirst) {
    const isKept = record.untilMs > nowMs && kept + record.copyBytes <= DELETED_COPIES_BYTES_MAX;
    if (isKept) kept += record.copyBytes;
    // Another process may undo the deletion now: then this write changes nothing.
    else await metadata.write([deletionOf(deletedKey(record.id)), putOperation({ ...record, copyBytes: 0 }, version)]);
  }
}
