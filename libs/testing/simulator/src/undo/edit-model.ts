/**
 * Rules about the undo of state edits: it puts back exactly what the edit changed, at once or when the handlers before it have ended, and
 * nothing at all when an entry of the edit was written since.
 */
import { createHash } from "node:crypto";
import type { Mutation, StateEditRecord, UndoNote } from "@perdure/state-machine";
import { decodeStateEditRecord } from "@perdure/storage";
import type { SimulationFindings } from "../findings.js";

/** Hash of a value; undefined: there is no entry. */
type ValueMark = string | undefined;

interface TrackedEntry {
  readonly before: ValueMark;
  readonly after: ValueMark;
  previous: ValueMark;
  present: ValueMark;
}

/** An edit that was applied, and the values of its entries since. */
interface TrackedEdit {
  readonly name: string;
  readonly object: string;
  readonly entries: ReadonlyMap<string, TrackedEntry>;
}

/** A waiting undo that the present mutations carry out. */
interface CarriedOut {
  readonly edit: TrackedEdit;
  /** Whether its entries are as the edit left them: they are put back then, and otherwise stay. */
  readonly isDue: boolean;
  readonly values: ReadonlyMap<string, ValueMark>;
}

export class EditModel {
  readonly #findings: SimulationFindings;
  /** By the names of their notes. */
  readonly #edits = new Map<string, TrackedEdit>();
  /** Undos that wait, by object and place in its queue. */
  readonly #waiting = new Map<string, TrackedEdit>();
  #carriedOut: CarriedOut | undefined;
  readonly #undone = new Set<string>();
  #undoneCount = 0;

  constructor(findings: SimulationFindings) {
    this.#findings = findings;
  }

  /** Number of edits whose entries were put back. */
  get undoneCount(): number {
    return this.#undoneCount;
  }

  /** Call it for each mutation that is not one of records of undo, in order. */
  saw(mutation: Mutation): void {
    switch (mutation.kind) {
      case "putState":
        return this.#written(`${mutation.service}/${mutation.key}`, mutation.stateKey, markOf(mutation.value));
      case "deleteState":
        return this.#written(`${mutation.service}/${mutation.key}`, mutation.stateKey, undefined);
      case "putInbox": {
        this.#checkCarriedOut();
        const { entry } = mutation;
        if (entry.kind !== "stateMutation" || entry.restored === undefined) return;
        const object = `${mutation.service}/${mutation.key}`;
        const entries = new Map(entry.restored.map(({ key }) => [key, undefined]));
        const edit = [...this.#edits.values()].findLast((each) => each.object === object && isSameKeys(each.entries, entries));
        if (edit !== undefined) this.#waiting.set(`${object}/${mutation.seq}`, edit);
        return;
      }
      case "deleteInbox": {
        this.#checkCarriedOut();
        const place = `${mutation.service}/${mutation.key}/${mutation.seq}`;
        const edit = this.#waiting.get(place);
        if (edit === undefined) return;
        this.#waiting.delete(place);
        const values = new Map([...edit.entries].map(([key, { present }]) => [key, present]));
        this.#carriedOut = { edit, isDue: [...edit.entries.values()].every(({ present, after }) => present === after), values };
        return;
      }
      default:
        return this.#checkCarriedOut();
    }
  }

  /** A note of an edit was stored, with the record that was stored before it. */
  noted(name: string, note: UndoNote, row: Uint8Array | undefined): void {
    if (!note.isUndone) {
      this.#findings.require(!this.#undone.has(name), "an edit that was undone is not applied any more", () => name);
      const record = row === undefined ? undefined : decodeStateEditRecord(row);
      if (record !== undefined) this.#edits.set(name, trackedOf(name, record));
      return;
    }
    this.#undone.add(name);
    const edit = this.#edits.get(name);
    this.#edits.delete(name);
    if (edit === undefined || edit.entries.size === 0 || [...this.#waiting.values()].includes(edit)) return;
    this.#checkRestored(
      edit,
      [...edit.entries.values()].every(({ previous, after }) => previous === after),
    );
  }

  dropped(name: string): void {
    this.#edits.delete(name);
  }

  #written(object: string, stateKey: string, value: ValueMark): void {
    for (const edit of new Set([...this.#edits.values(), ...this.#waiting.values(), ...this.#carriedOutEdits()])) {
      const entry = edit.object === object ? edit.entries.get(stateKey) : undefined;
      if (entry === undefined) continue;
      entry.previous = entry.present;
      entry.present = value;
    }
  }

  #carriedOutEdits(): readonly TrackedEdit[] {
    return this.#carriedOut === undefined ? [] : [this.#carriedOut.edit];
  }

  #checkCarriedOut(): void {
    const carriedOut = this.#carriedOut;
    this.#carriedOut = undefined;
    if (carriedOut === undefined) return;
    const { edit, isDue, values } = carriedOut;
    const isTouched = [...edit.entries].some(([key, { present }]) => present !== values.get(key));
    if (isDue || isTouched) this.#checkRestored(edit, isDue);
  }

  #checkRestored(edit: TrackedEdit, wasAsLeft: boolean): void {
    this.#findings.require(wasAsLeft, "an undo of an edit overwrites nothing that was written since", () => edit.name);
    this.#findings.require(
      [...edit.entries.values()].every(({ present, before }) => present === before),
      "an undo of an edit puts back what the edit changed",
      () => edit.name,
    );
    this.#undoneCount++;
  }
}

function trackedOf(name: string, { service, key, changes }: StateEditRecord): TrackedEdit {
  const entries = changes.map((change): [string, TrackedEntry] => {
    const after = change.afterHash === undefined ? undefined : Buffer.from(change.afterHash).toString("hex");
    const before = change.before === undefined ? undefined : markOf(change.before);
    return [change.key, { before, after, previous: after, present: after }];
  });
  return { name, object: `${service}/${key}`, entries: new Map(entries) };
}

function isSameKeys(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  return a.size === b.size && [...a.keys()].every((key) => b.has(key));
}

function markOf(value: Uint8Array): string {
  return createHash("sha256").update(value).digest("hex");
}
