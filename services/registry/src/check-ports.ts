/** The two ports of a check: reading what partitions hold, and requesting endpoints to replay it. */
import type { InvocationId } from "@perdure/base";
import type { ReplayCheck } from "@perdure/invoker";
import type { Invocation, JournalEntry } from "@perdure/state-machine";

/** The read-only part of a partition store, which satisfies it as it is. */
export interface CheckedStore {
  unfinished(partition: number, status: Invocation["status"] | undefined): AsyncIterable<Invocation>;
  completed(partition: number): AsyncIterable<Invocation>;
  readJournal(partition: number, id: InvocationId, length: number): Promise<readonly JournalEntry[]>;
  /** Keys are binary strings; `keyspaceOf` makes `keyspace`. */
  stateOf(partition: number, keyspace: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
}

export interface CheckPorts {
  readonly partitionCount: number;
  readonly store: CheckedStore;
  readonly replays: ReplayCheck;
}
