/**
 * Port: where completed invocations go when they have aged, so that the partition store keeps only what is live. A record is an
 * invocation whole: its row, its journal and its events in the stored form of `codec/`, so that nobody encodes anything twice.
 *
 * Everything may be repeated: a leader that dies between two steps is followed by one that takes them again. Writes carry the epoch of
 * their leader; once the archive has heard of a higher one, writes of the lower are fenced, so that a leader that slept cannot bring
 * back what its successor has forgotten.
 */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry, JournalEvent } from "@perdure/partition";

/** One completed invocation. Bytes may be shared: never change them. */
export interface ArchiveRecord {
  readonly id: InvocationId;
  readonly service: string;
  readonly createdAtMs: number;
  readonly completedAtMs: number;
  readonly isFailure: boolean;
  /** End of its retention. An id made of a key may live again; this tells its lives apart. */
  readonly retainedUntilMs: number;
  /**
   * Whether the archive forgets it by itself when its retention is over. If not, its leader does: more goes with it than the record
   * (a workflow's state and promises), or its journal goes earlier.
   */
  readonly expires: boolean;
  /** As `encodeInvocation` made it. */
  readonly row: Uint8Array;
  /** As `packRows` made it of entries; empty for none. */
  readonly journal: Uint8Array;
  /** As `packRows` made it of events, in their order; empty for none. */
  readonly events: Uint8Array;
}

/** A record without what a question about its result does not need. */
export type ArchivedRow = Pick<ArchiveRecord, "id" | "retainedUntilMs" | "expires" | "row">;

/** One of the lives of an id. */
export type ArchivedGeneration = Pick<ArchiveRecord, "id" | "retainedUntilMs">;

/** Who writes. */
export interface ArchivingLeader {
  readonly partition: number;
  readonly epoch: number;
}

export type ArchiveOutcome = { readonly kind: "done" } | { readonly kind: "fenced"; readonly by: number };

/** What a scan looks for; undefined wherever it does not matter. */
export interface ArchiveFilter {
  readonly partition?: number | undefined;
  readonly service?: string | undefined;
  readonly isFailure?: boolean | undefined;
  /** Created at or after `from` and before `to`, in milliseconds. */
  readonly createdFromMs?: number | undefined;
  readonly createdToMs?: number | undefined;
}

/** All methods reject with STO0001 when the medium fails; nobody may take that for "not there". */
export interface Archive extends AsyncDisposable {
  /** Durable when it resolves. Replaces what is there under the same ids. */
  put(leader: ArchivingLeader, records: readonly ArchiveRecord[]): Promise<ArchiveOutcome>;
  /** Deletes these lives, and no other life of the same ids. Those not there are no error. */
  delete(leader: ArchivingLeader, generations: readonly ArchivedGeneration[]): Promise<ArchiveOutcome>;
  /** Those that are there, in no order. */
  find(ids: readonly InvocationId[]): Promise<readonly ArchivedRow[]>;
  /** Entries in their order; none when the record has none or is not there. */
  journal(id: InvocationId): Promise<readonly JournalEntry[]>;
  events(id: InvocationId): Promise<readonly JournalEvent[]>;
  /** Deletes at most `limit` of those that expire by themselves and were retained until `nowMs` or before; tells how many. */
  expire(nowMs: number, limit: number): Promise<number>;
  /** Pages of rows, each from one look; what is written meanwhile may be in it or not. Order: creation, then id. */
  scan(filter: ArchiveFilter): AsyncIterable<readonly ArchivedRow[]>;
}
