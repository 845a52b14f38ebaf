/**
 * Port of the archive: completed invocations move there after some time, so that the partition store keeps only unfinished and recent
 * ones. A record holds a whole invocation (row, journal and events) in the stored form of `codec/`, so that no step encodes it again.
 *
 * Every operation can be repeated: when a leader crashes between two steps, its successor repeats them. Writes carry the epoch of their
 * leader. When the archive has received a higher epoch, it rejects writes of a lower one, so that a deposed leader cannot restore what
 * its successor deleted.
 */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry, JournalEvent } from "@perdure/state-machine";

/** One completed invocation. Bytes may be shared: never change them. */
export interface ArchiveRecord {
  readonly id: InvocationId;
  readonly service: string;
  readonly createdAtMs: number;
  readonly completedAtMs: number;
  readonly isFailure: boolean;
  /** End of the retention. An id made of a key can be used again; this time distinguishes the generations of the id. */
  readonly retainedUntilMs: number;
  /**
   * Whether the archive deletes the record itself when its retention is over. If not, the leader deletes it, because other rows go with
   * it (the state and promises of a workflow), or because its journal is deleted earlier.
   */
  readonly expires: boolean;
  /** Row in the form of `encodeInvocation`. */
  readonly row: Uint8Array;
  /** Entries in the form of `packRows`; empty for none. */
  readonly journal: Uint8Array;
  /** Events in the form of `packRows`, in their order; empty for none. */
  readonly events: Uint8Array;
}

/** A record without journal and events. */
export type ArchivedRow = Pick<ArchiveRecord, "id" | "retainedUntilMs" | "expires" | "row">;

/** Identifies one generation of an id. */
export type ArchivedGeneration = Pick<ArchiveRecord, "id" | "retainedUntilMs">;

/** The leader that writes: its partition and epoch. */
export interface ArchivingLeader {
  readonly partition: number;
  readonly epoch: number;
}

export type ArchiveOutcome = { readonly kind: "done" } | { readonly kind: "fenced"; readonly by: number };

/** Filters of a scan; an undefined field does not restrict it. */
export interface ArchiveFilter {
  readonly partition?: number | undefined;
  readonly service?: string | undefined;
  readonly isFailure?: boolean | undefined;
  /** Created at or after `from` and before `to`, in milliseconds. */
  readonly createdFromMs?: number | undefined;
  readonly createdToMs?: number | undefined;
}

/** All methods reject with STO0001 when the storage medium fails; callers must not treat that as "not found". */
export interface Archive extends AsyncDisposable {
  /** Stores the records, durable when it resolves. Replaces records of the same ids. */
  put(leader: ArchivingLeader, records: readonly ArchiveRecord[]): Promise<ArchiveOutcome>;
  /** Deletes these generations, and no other generation of the same ids. Missing records are not an error. */
  delete(leader: ArchivingLeader, generations: readonly ArchivedGeneration[]): Promise<ArchiveOutcome>;
  /** Returns the existing rows of these ids, in no order. */
  find(ids: readonly InvocationId[]): Promise<readonly ArchivedRow[]>;
  /** Returns the entries in their order; none when the record has none or does not exist. `bytesMax`: see `PartitionStore.readJournal`. */
  journal(id: InvocationId, bytesMax?: number): Promise<readonly JournalEntry[]>;
  events(id: InvocationId): Promise<readonly JournalEvent[]>;
  /** Deletes at most `limit` of the records with `expires` whose retention ended at or before `nowMs`; returns how many. */
  expire(nowMs: number, limit: number): Promise<number>;
  /**
   * Yields pages of rows in the order of creation time, then id. Each page is read at once; records that are written during the scan
   * may be missing.
   */
  scan(filter: ArchiveFilter): AsyncIterable<readonly ArchivedRow[]>;
}
