/**
 * What a partition keeps so that a change can be undone: a note per invocation and operation, which is in memory, and a record with
 * everything that is needed to restore the invocation, which is read only when the change is undone.
 */
import type { InvocationId, OperationId } from "@perdure/base";
import type { UserStateEntry } from "../command.js";
import type { JournalEntry } from "../entry.js";
import type { GenerationMark, Invocation } from "../invocation.js";
import type { WorkflowPromise } from "../mutation.js";

export interface NewUndoNote {
  readonly id: InvocationId;
  readonly operation: OperationId;
  /** `ended`: killed or cancelled. `purged`: the completed invocation was deleted. `paused`, `resumed`: the invocation stayed. */
  readonly kind: "ended" | "purged" | "paused" | "resumed";
  /** End of the time in which the change can be undone. */
  readonly untilMs: number;
  readonly generation: GenerationMark;
}

export interface UndoNote extends NewUndoNote {
  /** The change was undone: the record is deleted, and the note answers repeated requests until `untilMs`. */
  readonly isUndone: boolean;
  /** Number of notifications that arrived since the change and are kept with the record. */
  readonly deferredCount: number;
  /** Bytes of the record and of what arrived since. */
  readonly bytes: number;
}

/** The invocation before the change. */
export interface UndoRecord {
  readonly invocation: Invocation;
  readonly journal: readonly JournalEntry[];
  /** State and promises of a workflow's key that were deleted with its run. */
  readonly state: readonly UserStateEntry[];
  readonly promises: readonly { readonly name: string; readonly promise: WorkflowPromise }[];
}

/** Reads are synchronous and may throw `NeedsLoad`, as those of `PartitionView`; writes belong to the present command. */
export interface UndoRows {
  /** False where changes can no longer be undone, and only records of before exist. */
  readonly keepsNew: boolean;
  /** No note exists: the usual case, which must cost nothing. */
  readonly isEmpty: boolean;
  notesOf(id: InvocationId): readonly UndoNote[];
  note(id: InvocationId, operation: OperationId): UndoNote | undefined;
  record(note: UndoNote): UndoRecord | undefined;
  deferred(note: UndoNote, index: number): JournalEntry | undefined;
  /** Adds a record. Older ones are deleted when all of them exceed the bound of the partition; one that exceeds it alone is not kept. */
  put(note: NewUndoNote, record: UndoRecord, nowMs: number): void;
  defer(note: UndoNote, entry: JournalEntry): void;
  /** Deletes the record and keeps the note. */
  markUndone(note: UndoNote): void;
  dropExpired(nowMs: number): void;
}
