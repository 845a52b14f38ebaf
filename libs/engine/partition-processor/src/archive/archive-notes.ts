/** Records which ids of a leader's partition may be in the archive, and which generations must still be deleted there. */
import { type AnyPartitionStore, DELETED_GENERATIONS } from "@perdure/storage";
import { ARCHIVED_IDS, ArchivedIds } from "./archived-ids.js";
import { DeletedGenerations } from "./deleted-generations.js";

export interface ArchiveNotes {
  readonly ids: ArchivedIds;
  readonly deletions: DeletedGenerations;
}

/** Reads the notes of former leaders from the store. */
export async function readArchiveNotes(store: AnyPartitionStore, partition: number): Promise<ArchiveNotes> {
  const deletions = await store.stateOf(partition, DELETED_GENERATIONS.service, DELETED_GENERATIONS.key);
  const ids = await store.stateOf(partition, ARCHIVED_IDS.service, ARCHIVED_IDS.key);
  return { ids: new ArchivedIds(ids), deletions: new DeletedGenerations(deletions.keys()) };
}
