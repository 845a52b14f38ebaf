/**
 * Which notes of undo end first. Notes of a later end are appended, so that adding costs nothing; names of deleted notes stay until the
 * command that deleted them is kept, because a command that must be applied again restores its notes at their place.
 */
import type { InvocationId, OperationId } from "@perdure/base";
import type { UndoNote } from "@perdure/state-machine";

interface NoteName {
  readonly id: InvocationId;
  readonly operation: OperationId;
  readonly untilMs: number;
}

type FindNote = (id: InvocationId, operation: OperationId) => UndoNote | undefined;

export class NotesByAge {
  /** Ascending by `untilMs`, and those of one end in the order in which they were added. */
  #names: NoteName[] = [];
  /** Index of the first name whose note may exist. */
  #first = 0;
  /** Number of names from which the list is rebuilt without those of deleted notes. */
  #compactFrom = COMPACTED_MIN;
  readonly #find: FindNote;

  /** `find` returns the notes that exist. */
  constructor(find: FindNote) {
    this.#find = find;
  }

  add({ id, operation, untilMs }: NoteName): void {
    let at = this.#names.length;
    // Windows of several management APIs, and one that was changed, may end in another order than they began.
    while (at > this.#first && (this.#names[at - 1]?.untilMs ?? 0) > untilMs) at--;
    if (at === this.#names.length) this.#names.push({ id, operation, untilMs });
    else this.#names.splice(at, 0, { id, operation, untilMs });
  }

  /** Yields the notes that exist, those that end first before others. Notes may be deleted meanwhile. */
  *oldestFirst(): Iterable<UndoNote> {
    for (let at = this.#first; at < this.#names.length; at++) {
      const note = this.#noteAt(at);
      if (note !== undefined) yield note;
    }
  }

  /** Removes names of deleted notes: call it when the present command is kept. */
  compact(): void {
    while (this.#first < this.#names.length && this.#noteAt(this.#first) === undefined) this.#first++;
    if (this.#names.length < this.#compactFrom) return;
    this.#names = this.#names.filter((_, at) => at >= this.#first && this.#noteAt(at) !== undefined);
    this.#first = 0;
    this.#compactFrom = Math.max(COMPACTED_MIN, 2 * this.#names.length);
  }

  #noteAt(at: number): UndoNote | undefined {
    const name = this.#names[at];
    const note = name === undefined ? undefined : this.#find(name.id, name.operation);
    return note?.untilMs === name?.untilMs ? note : undefined;
  }
}

const COMPACTED_MIN = 1_024;
