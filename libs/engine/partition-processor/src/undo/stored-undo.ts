/**
 * The records with which changes of a partition can be undone. Notes are in memory, and stored beside their records as state of a
 * service name that no deployment can have; records are read only when a change is undone.
 */
import type { InvocationId, OperationId } from "@perdure/base";
import type {
  JournalEntry,
  Mutation,
  NewUndoNote,
  StateEditRecord,
  UndoNote,
  UndoRecord,
  UndoRows,
} from "@perdure/state-machine";
import {
  decodeEntry,
  decodeStateEditRecord,
  decodeUndoNote,
  decodeUndoRecord,
  encodeEntry,
  encodeStateEditRecord,
  encodeUndoNote,
  encodeUndoRecord,
  UNDO_NOTES,
  undoDeferredKey,
  undoNoteName,
  undoRecordKey,
} from "@perdure/storage";
import { UNDO_DROPS_MAX, UNDO_NOTE_BYTES } from "../limits.js";
import type { UndoLog } from "../view/overlay.js";
import { NotesByAge } from "./notes-by-age.js";

export interface UndoOptions {
  /** Bytes of all records of a partition; the oldest are deleted first. 0: none is added, and those of former leaders are deleted. */
  readonly bytesMax: number;
  /** Whether purged invocations are kept: with an archive, a record there would be deleted after the undo. */
  readonly keepsPurged: boolean;
  readonly counters: UndoCounters;
}

interface UndoCounters {
  /** Records that were deleted before the end of their time, because of the bound. */
  undoDropped: number;
}

/** The part of a view that records are stored with. */
interface StateOfView {
  state(service: string, key: string, stateKey: string): Uint8Array | undefined;
  mutate(mutation: Mutation): void;
}

type Address = { readonly service: string; readonly key: string; readonly stateKey: string };

export class StoredUndo implements UndoRows {
  readonly #view: StateOfView;
  readonly #log: UndoLog;
  readonly #options: UndoOptions;
  /** Of one invocation, one note for each operation. */
  readonly #notes = new Map<string, readonly UndoNote[]>();
  readonly #byAge = new NotesByAge((id, operation) => this.note(id, operation));
  /** One number, in a map so that the log can revert it. */
  readonly #sum = new Map<string, number>();
  /** Records that the present command deleted early. */
  #dropped = 0;
  #isChanged = false;

  /** `stored` are the notes of former leaders; `log` reverts changes of notes with those of the present command. */
  constructor(view: StateOfView, log: UndoLog, stored: ReadonlyMap<string, Uint8Array>, options: UndoOptions) {
    this.#view = view;
    this.#log = log;
    this.#options = options;
    const notes = [...stored].map(([name, row]) => decodeUndoNote(name, row));
    for (const note of notes.sort((a, b) => a.untilMs - b.untilMs)) this.#keep(note);
    log.clear();
    this.accept();
  }

  get keepsNew(): boolean {
    return this.#options.bytesMax > 0;
  }

  get isEmpty(): boolean {
    return this.#notes.size === 0;
  }

  /** The note that ends first if its time is over; its id routes a command to the partition. */
  expired(nowMs: number): UndoNote | undefined {
    for (const note of this.#byAge.oldestFirst()) return note.untilMs <= nowMs || !this.keepsNew ? note : undefined;
    return undefined;
  }

  /** Keeps the present command. */
  accept(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.#options.counters.undoDropped += this.#dropped;
    this.#dropped = 0;
    this.#byAge.compact();
  }

  /** The present command must be applied again; the log reverts its notes. */
  takeBack(): void {
    this.#isChanged = false;
    this.#dropped = 0;
  }

  notesOf(id: InvocationId): readonly UndoNote[] {
    return this.#notes.get(id) ?? NO_NOTES;
  }

  note(id: InvocationId, operation: OperationId): UndoNote | undefined {
    return this.notesOf(id).find((note) => note.operation === operation);
  }

  record({ id, operation }: UndoNote): UndoRecord | undefined {
    const row = this.#read(undoRecordKey(id, operation));
    return row === undefined ? undefined : decodeUndoRecord(row);
  }

  stateEdit({ id, operation }: UndoNote): StateEditRecord | undefined {
    const row = this.#read(undoRecordKey(id, operation));
    return row === undefined ? undefined : decodeStateEditRecord(row);
  }

  deferred({ id, operation }: UndoNote, index: number): JournalEntry | undefined {
    const row = this.#read(undoDeferredKey(id, operation, index));
    return row === undefined ? undefined : decodeEntry(row);
  }

  put(added: NewUndoNote, record: UndoRecord | StateEditRecord, nowMs: number): void {
    if (!this.keepsNew || (added.kind === "purged" && !this.#options.keepsPurged)) return;
    this.dropExpired(nowMs);
    const replaced = this.note(added.id, added.operation);
    if (replaced !== undefined) this.#delete(replaced);
    const value = "changes" in record ? encodeStateEditRecord(record) : encodeUndoRecord(record);
    const note: UndoNote = { ...added, isUndone: false, deferredCount: 0, bytes: value.length + UNDO_NOTE_BYTES };
    if (!this.#makeSpace(note.bytes, undefined)) return this.#countDropped();
    this.#write(undoRecordKey(note.id, note.operation), value);
    this.#store(note);
  }

  defer(note: UndoNote, entry: JournalEntry): void {
    const value = encodeEntry(entry);
    // A record that lacks a notification would restore an invocation that waits for ever.
    if (!this.#makeSpace(value.length, note)) return this.#drop(note);
    this.#write(undoDeferredKey(note.id, note.operation, note.deferredCount), value);
    this.#store({ ...note, deferredCount: note.deferredCount + 1, bytes: note.bytes + value.length });
  }

  markUndone(note: UndoNote): void {
    this.#deleteRows(note);
    this.#store({ ...note, isUndone: true, deferredCount: 0, bytes: UNDO_NOTE_BYTES });
  }

  dropExpired(nowMs: number): void {
    for (let left = UNDO_DROPS_MAX; left > 0; left--) {
      const note = this.expired(nowMs);
      if (note === undefined) return;
      this.#delete(note);
    }
  }

  /** Deletes the oldest records until `bytes` more fit; false when they never do. `except` stays. */
  #makeSpace(bytes: number, except: UndoNote | undefined): boolean {
    const { bytesMax } = this.#options;
    if (bytes + (except?.bytes ?? 0) > bytesMax) return false; // The others would be deleted in vain.
    if (this.#bytes + bytes <= bytesMax) return true;
    for (const note of this.#byAge.oldestFirst()) {
      if (note === except) continue;
      this.#drop(note);
      if (this.#bytes + bytes <= bytesMax) return true;
    }
    return false;
  }

  #drop(note: UndoNote): void {
    if (!note.isUndone) this.#countDropped();
    this.#delete(note);
  }

  #countDropped(): void {
    this.#isChanged = true;
    this.#dropped++;
  }

  #delete(note: UndoNote): void {
    this.#deleteRows(note);
    this.#evict(note);
    this.#view.mutate({ kind: "deleteState", ...UNDO_NOTES, stateKey: undoNoteName(note.id, note.operation) });
  }

  #deleteRows({ id, operation, deferredCount, isUndone }: UndoNote): void {
    if (isUndone) return;
    this.#view.mutate({ kind: "deleteState", ...undoRecordKey(id, operation) });
    for (let index = 0; index < deferredCount; index++) {
      this.#view.mutate({ kind: "deleteState", ...undoDeferredKey(id, operation, index) });
    }
  }

  #store(note: UndoNote): void {
    this.#keep(note);
    this.#write({ ...UNDO_NOTES, stateKey: undoNoteName(note.id, note.operation) }, encodeUndoNote(note));
  }

  // ── in memory ──────────────────────────────────────────────────────────────────────────────────

  get #bytes(): number {
    return this.#sum.get("bytes") ?? 0;
  }

  #add(bytes: number): void {
    this.#isChanged = true;
    this.#log.note(this.#sum, "bytes");
    this.#sum.set("bytes", this.#bytes + bytes);
  }

  #keep(note: UndoNote): void {
    const before = this.note(note.id, note.operation);
    this.#log.note(this.#notes, note.id);
    const others = this.notesOf(note.id).filter((each) => each !== before);
    this.#notes.set(note.id, [...others, note]);
    if (before?.untilMs !== note.untilMs) this.#byAge.add(note);
    this.#add(note.bytes - (before?.bytes ?? 0));
  }

  #evict(note: UndoNote): void {
    this.#log.note(this.#notes, note.id);
    const others = this.notesOf(note.id).filter((each) => each.operation !== note.operation);
    if (others.length === 0) this.#notes.delete(note.id);
    else this.#notes.set(note.id, others);
    this.#add(-note.bytes);
  }

  #read({ service, key, stateKey }: Address): Uint8Array | undefined {
    return this.#view.state(service, key, stateKey);
  }

  #write(address: Address, value: Uint8Array): void {
    this.#view.mutate({ kind: "putState", ...address, value });
  }
}

const NO_NOTES: readonly UndoNote[] = [];
