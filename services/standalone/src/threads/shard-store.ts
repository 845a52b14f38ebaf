/** The partition store of a further thread: a handle of its own on the database that the main thread has open. */
import { openLevelWriter } from "@perdure/leveldb";
import { ActionMeter, ActionTotals, CompletedChanges, KvPartitionStore } from "@perdure/storage";
import type { ShardData } from "./methods.js";
import { isRowOfThread } from "./row-owner.js";

interface ShardStore {
  readonly store: KvPartitionStore;
  /** What `store` writes, for SQL statements. */
  readonly completedChanges: CompletedChanges;
}

/** The caller closes the store. Rejects with STO0001 when the database cannot be opened. */
export async function openShardStore({ directory, thread, threads, actions }: ShardData): Promise<ShardStore> {
  const level = await openLevelWriter(directory, { writer: thread, isOwn: isRowOfThread(thread, threads) });
  const meter = ActionMeter.openBeside(level, thread, new ActionTotals(actions));
  const completedChanges = new CompletedChanges();
  return { store: new KvPartitionStore(completedChanges.recorded(level), meter), completedChanges };
}
