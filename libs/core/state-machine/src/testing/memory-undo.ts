/** Records of undo in memory, for tests of the core. */
import type { InvocationId, OperationId } from "@perdure/base";
import type { JournalEntry } from "../entry.js";
import type { NewUndoNote, StateEditRecord, UndoNote, UndoRecord, UndoRows } from "../undo/rows.js";

export class MemoryUndo implements UndoRows {
  readonly keepsNew = true;
  readonly #notes = new Map<string, UndoNote>();
  readonly #records = new Map<string, UndoRecord | StateEditRecord>();
  readonly #deferred = new Map<string, JournalEntry[]>();

  get isEmpty(): boolean {
    return this.#notes.size === 0;
  }
  notesOf(id: InvocationId): readonly UndoNote[] {
    return [...this.#notes.values()].filter((note) => note.id === id);
  }
  note(id: InvocationId, operation: OperationId): UndoNote | undefined {
    return this.#notes.get(nameOf({ id, operation }));
  }
  record(note: UndoNote): UndoRecord | undefined {
    const record = this.#records.get(nameOf(note));
    return record !== undefined && "invocation" in record ? record : undefined;
  }
  stateEdit(note: UndoNote): StateEditRecord | undefined {
    const record = this.#records.get(nameOf(note));
    return record !== undefined && "changes" in record ? record : undefined;
  }
  deferred(note: UndoNote, index: number): JournalEntry | undefined {
    return this.#deferred.get(nameOf(note))?.[index];
  }
  put(note: NewUndoNote, record: UndoRecord | StateEditRecord): void {
    this.#notes.set(nameOf(note), { ...note, isUndone: false, deferredCount: 0, bytes: 0 });
    this.#records.set(nameOf(note), record);
  }
  defer(note: UndoNote, entry: JournalEntry): void {
    this.#deferred.set(nameOf(note), [...(this.#deferred.get(nameOf(note)) ?? []), entry]);
    this.#notes.set(nameOf(note), { ...note, deferredCount: note.deferredCount + 1 });
  }
  markUndone(note: UndoNote): void {
    this.#records.delete(nameOf(note));
    this.#notes.set(nameOf(note), { ...note, isUndone: true, deferredCount: 0, bytes: 0 });
  }
  dropExpired(nowMs: number): void {
    for (const [name, note] of this.#notes) if (note.untilMs <= nowMs) this.#notes.delete(name);
  }
}

function nameOf({ id, operation }: Pick<UndoNote, "id" | "operation">): string {
  return `${id}/${operation}`;
}
