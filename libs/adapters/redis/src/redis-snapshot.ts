/**
 * Reads a partition for a SQL statement while its leader continues to write. Redis has no snapshot: every returned row existed at some
 * moment of the statement, and no invocation is returned twice, or missed, because it completed in between.
 */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry, JournalEvent } from "@perdure/state-machine";
import type { InboxRow, LockRow, PromiseRow, StateRange, StateRow } from "@perdure/storage";
import type { RedisPartitionStore } from "./redis-partition-store.js";

/** Gives one statement a stable view of the store. It costs memory for the names of the unfinished invocations of one partition. */
export class RedisSnapshot implements AsyncDisposable {
  readonly #store: RedisPartitionStore;
  /** Ids that were returned as unfinished, of the partition that was read last. */
  readonly #readIds = new Set<string>();
  #readPartition: number | undefined;

  constructor(store: RedisPartitionStore) {
    this.#store = store;
  }

  /** Read the unfinished invocations of a partition before its completed ones. */
  async *invocationRows(partition: number, group: "unfinished" | "completed"): AsyncIterable<readonly Uint8Array[]> {
    if (group === "unfinished" || this.#readPartition !== partition) this.#readIds.clear();
    this.#readPartition = partition;
    for await (const page of this.#store.invocationRows(partition, group)) {
      const rows: Uint8Array[] = [];
      for (const [id, row] of page) {
        if (group === "unfinished") this.#readIds.add(id);
        else if (this.#readIds.has(id)) continue;
        rows.push(row);
      }
      if (rows.length > 0) yield rows;
    }
  }

  invocationRow(partition: number, id: InvocationId): Promise<Uint8Array | undefined> {
    return this.#store.invocationRow(partition, id);
  }
  readJournal(partition: number, id: InvocationId, length: number): Promise<readonly JournalEntry[]> {
    return this.#store.readJournal(partition, id, length);
  }
  stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    return this.#store.stateOf(partition, service, key);
  }
  events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]> {
    return this.#store.events(partition, id);
  }
  scanState(partition: number, service: string | undefined, where?: StateRange): AsyncIterable<StateRow> {
    return this.#store.scanState(partition, service, where);
  }
  scanPromises(partition: number): AsyncIterable<PromiseRow> {
    return this.#store.scanPromises(partition);
  }
  scanLocks(partition: number): AsyncIterable<LockRow> {
    return this.#store.scanLocks(partition);
  }
  scanInboxes(partition: number): AsyncIterable<InboxRow> {
    return this.#store.scanInboxes(partition);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#readIds.clear();
  }
}
