/** The store of an environment, in memory. Requests of the engine to it are activity: something is in flight. */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry, TimerKey } from "@perdure/state-machine";
import {
  type CommitOutcome,
  type KeyValue,
  KvPartitionStore,
  MemoryKeyValue,
  type PartitionBatch,
  type TimerGroup,
} from "@perdure/storage";
import type { EngineActivity } from "../time/activity.js";

class CountedStore extends KvPartitionStore {
  readonly #activity: EngineActivity;

  constructor(kv: KeyValue, activity: EngineActivity) {
    super(kv);
    this.#activity = activity;
  }

  override commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome> {
    this.#activity.bump();
    return super.commit(batches);
  }

  override readJournal(partition: number, id: InvocationId, length: number, bytesMax?: number): Promise<JournalEntry[]> {
    this.#activity.bump();
    return super.readJournal(partition, id, length, bytesMax);
  }

  override timers(partition: number, group: TimerGroup, fromMs: number, limit: number): Promise<readonly TimerKey[]> {
    this.#activity.bump();
    return super.timers(partition, group, fromMs, limit);
  }
}

export interface CountedStores {
  /** For the engine. */
  readonly store: KvPartitionStore;
  /** Reads the same rows without being activity: for observers. */
  readonly observed: KvPartitionStore;
}

export function openStores(activity: EngineActivity): CountedStores {
  const kv = new MemoryKeyValue();
  return { store: new CountedStore(kv, activity), observed: new KvPartitionStore(kv) };
}
