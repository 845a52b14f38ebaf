/**
 * Rules about undo. An invocation whose end was undone is the same one again: its record continues, with the journal that was stored
 * before, and every other rule holds for it. A batch shows an undo by the note that it stores.
 */
import type { InvocationId } from "@perdure/base";
import type { Mutation, UndoMark, UndoNote } from "@perdure/state-machine";
import { decodeUndoNote, UNDO_NOTES } from "@perdure/storage";
import type { SimulationFindings } from "../findings.js";
import { EditModel } from "./edit-model.js";

/** Mutations of a batch that restore invocations. */
export interface Restorations {
  /** Stores of rows that restore an invocation, with the note of their undo. */
  readonly puts: ReadonlyMap<Mutation, UndoNote>;
  readonly entries: ReadonlySet<Mutation>;
}

const NONE: Restorations = { puts: new Map(), entries: new Set() };

export class UndoModel {
  /** Notes that are stored, by their names. */
  readonly #notes = new Map<string, UndoNote>();
  readonly edits: EditModel;
  /** The record that was stored last, which belongs to the next note of its name. */
  #record: { readonly name: string; readonly row: Uint8Array } | undefined;

  constructor(findings: SimulationFindings) {
    this.edits = new EditModel(findings);
  }

  get noteCount(): number {
    return this.#notes.size;
  }

  /** Whether the operation was undone for this invocation: a command of it that comes later changes nothing. */
  isUndone(id: InvocationId, mark: UndoMark | undefined): boolean {
    return mark !== undefined && this.#notes.get(`${id}/${mark.operation}`)?.isUndone === true;
  }

  /** Call it for each mutation in order. Returns whether it is one of records of undo, which are no state of a handler. */
  owns(mutation: Mutation): boolean {
    if ((mutation.kind !== "putState" && mutation.kind !== "deleteState") || mutation.service !== UNDO_NOTES.service) {
      this.edits.saw(mutation);
      return false;
    }
    if (!isNote(mutation)) {
      if (mutation.kind === "putState") this.#record = { name: mutation.key, row: mutation.value };
    } else if (mutation.kind === "deleteState") this.edits.dropped(mutation.stateKey);
    else this.#noted(mutation.stateKey, mutation.value);
    return true;
  }

  #noted(name: string, value: Uint8Array): void {
    const note = decodeUndoNote(name, value);
    const record = this.#record?.name === name ? this.#record.row : undefined;
    if (note.kind === "stateEdited") this.edits.noted(name, note, record);
  }

  /** Call it for each batch before the batch is applied. */
  restorationsOf(mutations: readonly Mutation[]): Restorations {
    let restorations = NONE;
    for (const [at, mutation] of mutations.entries()) {
      if (mutation.kind === "deleteState" && isNote(mutation)) this.#notes.delete(mutation.stateKey);
      if (mutation.kind !== "putState" || !isNote(mutation)) continue;
      const note = decodeUndoNote(mutation.stateKey, mutation.value);
      const isRestoring = note.kind === "ended" || note.kind === "purged"; // After other changes the invocation is still there.
      const isNew = isRestoring && note.isUndone && this.#notes.get(mutation.stateKey)?.isUndone !== true;
      this.#notes.set(mutation.stateKey, note);
      if (isNew) restorations = withRestoration(restorations, mutations, at, note);
    }
    return restorations;
  }
}

function isNote({ service, key }: { readonly service: string; readonly key: string }): boolean {
  return service === UNDO_NOTES.service && key === UNDO_NOTES.key;
}

/** The command stored the row after all entries, and the note last. */
function withRestoration({ puts, entries }: Restorations, batch: readonly Mutation[], at: number, note: UndoNote): Restorations {
  const put = batch.findLastIndex((each, index) => index < at && isPutOf(each, note.id));
  const row = batch[put];
  if (row === undefined) return { puts, entries };
  const restored = new Set(entries);
  if (row.kind !== "putInvocation" || row.invocation.journal.length === 0) return { puts: new Map(puts).set(row, note), entries };
  for (let index = put - 1; index >= 0; index--) {
    const each = batch[index];
    if (each?.kind !== "appendEntry" || each.id !== note.id) continue;
    restored.add(each);
    if (each.index === 0) break;
  }
  return { puts: new Map(puts).set(row, note), entries: restored };
}

function isPutOf(mutation: Mutation, id: InvocationId): boolean {
  return mutation.kind === "putInvocation" && mutation.invocation.facts.id === id;
}
