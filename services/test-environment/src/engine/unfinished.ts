/** Lists the invocations that have not completed. */
import type { PartitionStore } from "@perdure/storage";
import { type Journal, journalOf } from "../journal/journal.js";
import { PARTITION_COUNT } from "../limits.js";

export async function unfinishedOf(store: PartitionStore): Promise<readonly Journal[]> {
  const journals: Journal[] = [];
  for (let partition = 0; partition < PARTITION_COUNT; partition++) {
    for await (const { facts } of store.unfinished(partition, undefined)) {
      const journal = await journalOf(store, facts.id);
      if (journal !== undefined) journals.push(journal);
    }
  }
  return journals;
}
