/** Helpers that the parts of the contract share: a leader to write with, and scans gathered into lists. */
import type { Mutation } from "@perdure/state-machine";
import type { CommitOutcome, PartitionStore } from "../partition-store.js";

/** Writes to one partition under the epoch of its claim. */
export interface Leader {
  readonly partition: number;
  readonly epoch: number;
  put(...mutations: Mutation[]): Promise<CommitOutcome>;
}

/** Claims the partition. */
export async function lead(store: PartitionStore, partition = 0): Promise<Leader> {
  const epoch = await store.claim(partition);
  return { partition, epoch, put: (...mutations) => store.commit([{ partition, epoch, mutations }]) };
}

export async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const row of rows) list.push(row);
  return list;
}

/** Returns every row that a scan yields, for "leaves no trace" and "untouched". */
export async function everything(store: PartitionStore, partition: number): Promise<unknown> {
  const flow = await store.flow(partition);
  return {
    unfinished: await all(store.unfinished(partition, undefined)),
    completed: await all(store.completed(partition)),
    state: await all(store.scanState(partition, undefined)),
    promises: await all(store.scanPromises(partition)),
    locks: await all(store.scanLocks(partition)),
    inboxes: await all(store.scanInboxes(partition)),
    precise: await store.timers(partition, "precise", 0, 1_000),
    retention: await store.timers(partition, "retention", 0, 1_000),
    expiring: await store.timers(partition, "state", 0, 1_000),
    recoverable: await all(store.recoverable(partition)),
    buckets: flow.buckets,
    pauses: flow.pauses,
    outbox: await store.outbox(partition, -1, 1_000),
  };
}

/** A binary string: one char per byte. */
export function bytesText(...bytes: number[]): string {
  return String.fromCharCode(...bytes);
}
