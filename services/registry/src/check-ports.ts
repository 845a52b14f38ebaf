/** Why: a check reads what partitions hold and asks endpoints about it, and these are the only two things it can do. */
import type { InvocationId } from "@perdure/base";
import type { ReplayCheck } from "@perdure/invoker";
import type { Invocation, JournalEntry } from "@perdure/partition";

/** The reading half of a partition store, which satisfies it as it is. */
export interface CheckedStore {
  unfinished(partition: number, status: Invocation["status"] | undefined): AsyncIterable<Invocation>;
  completed(partition: number): AsyncIterable<Invocation>;
  readJournal(partition: number, id: InvocationId, length: number): Promise<readonly JournalEntry[]>;
  /** Keys are binary strings; `keyspace` as `keyspaceOf` makes it. */
  stateOf(partition: number, keyspace: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
}

export interface CheckPorts {
  readonly partitionCount: number;
  readonly store: CheckedStore;
  readonly replays: ReplayCheck;
}
