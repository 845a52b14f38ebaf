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
  /**
   * `ended`: killed or cancelled. `purged`: the completed invocation was deleted. `paused`, `resumed`: the invocation stayed.
   * `stateEdited`: the state of a key was edited; `id` is that of the command.
   */
  readonly kind: "ended" | "purged" | "paused" | "resumed" | "stateEdited";
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

/** An entry of a state before an edit, and what the edit made of it. */
export interface ChangedEntry {
  readonly key: string;
  /** Undefined: there was none. */
  readonly before: Uint8Array | undefined;
  /** SHA-256 of the value that the edit wrote; undefined: it deleted the entry. */
  readonly afterHash: Uint8Array | undefined;
}

/** What an edit changed. */
export interface StateEditRecord {
  readonly service: string;
  readonly key: string;
  /** Whether edits of the key wait for its lock. */
  readonly isExclusive: boolean;
  /** Place in the queue of the key while the edit waits there; `changes` is empty then. */
  readonly waitsAt: number | undefined;
  readonly changes: readonly ChangedEntry[];
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
  stateEdit(note: UndoNote): StateEditRecord | undefined;
  deferred(note: UndoNote, index: number): JournalEntry | undefined;
  /** Adds a record, or replaces that of the same operation. Older ones are deleted when all of them exceed the bound of the partition; one that exceeds it alone is not kept. */
  put(note: NewUndoNote, record: UndoRecord | StateEditRecord, nowMs: number): void;
  defer(note: UndoNote, entry: JournalEntry): void;
  /** Deletes the record and keeps the note. */
  markUndone(note: UndoNote): void;
  dropExpired(nowMs: number): void;
}
