/**
 * Codec of what a partition keeps so that a change can be undone. Notes and records are state of a service name that no deployment can
 * have, so that every store supports them and they are durable with the batch of the change.
 */
import {
  fromBinaryString,
  type InvocationId,
  invariant,
  type OperationId,
  ProtoReader,
  ProtoWriter,
  toBinaryString,
} from "@perdure/base";
import type {
  ChangedEntry,
  Invocation,
  JournalEntry,
  StateEditRecord,
  UndoNote,
  UndoRecord,
  UserStateEntry,
  WorkflowPromise,
} from "@perdure/state-machine";
import { decodeInvocation, encodeInvocation } from "./invocation.js";
import { decodeChangedEntry, decodeEntry, decodePromise, encodeEntry, encodePromise, writeChangedEntry } from "./rows.js";

/** The notes of a partition, which its leader has in memory; state keys are `undoNoteName`. */
export const UNDO_NOTES = Object.freeze({ service: ":undo", key: "notes" });

export function undoNoteName(id: InvocationId, operation: OperationId): string {
  return `${id}/${operation}`;
}

export function undoRecordKey(id: InvocationId, operation: OperationId) {
  return { service: UNDO_NOTES.service, key: undoNoteName(id, operation), stateKey: "record" } as const;
}

export function undoDeferredKey(id: InvocationId, operation: OperationId, index: number) {
  return { service: UNDO_NOTES.service, key: undoNoteName(id, operation), stateKey: `deferred/${index}` } as const;
}

const writer = new ProtoWriter();

/** The place of a kind is its stored form. */
const NOTE_KINDS: readonly UndoNote["kind"][] = ["ended", "purged", "paused", "resumed", "stateEdited"];

/** The name of a note is its id and operation. */
export function encodeUndoNote(note: UndoNote): Uint8Array {
  const w = writer.reset().uint32(1, NOTE_KINDS.indexOf(note.kind)).uint64(2, note.untilMs);
  if (note.generation !== undefined) w.uint64(3, note.generation);
  if (note.isUndone) w.bool(4, true);
  return w.uint32(5, note.deferredCount).uint64(6, note.bytes).finish();
}

export function decodeUndoNote(name: string, row: Uint8Array): UndoNote {
  const slash = name.indexOf("/");
  const r = new ProtoReader(row);
  let kind: UndoNote["kind"] | undefined = "ended";
  let untilMs = 0;
  let generation: number | undefined;
  let isUndone = false;
  let deferredCount = 0;
  let bytes = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) kind = NOTE_KINDS[r.uint32()];
    else if (tag >>> 3 === 2) untilMs = r.uint64Number();
    else if (tag >>> 3 === 3) generation = r.uint64Number();
    else if (tag >>> 3 === 4) isUndone = r.bool();
    else if (tag >>> 3 === 5) deferredCount = r.uint32();
    else if (tag >>> 3 === 6) bytes = r.uint64Number();
    else r.skip(tag & 7);
  }
  const id = name.slice(0, slash) as InvocationId;
  const operation = name.slice(slash + 1) as OperationId;
  // A later version stored a change that this one cannot undo: its time is over.
  if (kind === undefined) return { id, operation, kind: "ended", untilMs: 0, generation, isUndone, deferredCount, bytes };
  return { id, operation, kind, untilMs, generation, isUndone, deferredCount, bytes };
}

export function encodeUndoRecord({ invocation, journal, state, promises }: UndoRecord): Uint8Array {
  // The codecs of rows share a writer, so the rows are encoded first.
  const row = encodeInvocation(invocation);
  const entries = journal.map(encodeEntry);
  const promiseRows = promises.map(({ name, promise }) => ({ name, row: encodePromise(promise) }));
  const w = writer.reset().bytes(1, row);
  for (const entry of entries) w.bytes(2, entry);
  for (const { key, value } of state) w.fork(3).bytes(1, fromBinaryString(key)).bytes(2, value).join();
  for (const each of promiseRows) w.fork(4).string(1, each.name).bytes(2, each.row).join();
  return w.finish();
}

export function decodeUndoRecord(bytes: Uint8Array): UndoRecord {
  const r = new ProtoReader(bytes);
  let invocation: Invocation | undefined;
  const journal: JournalEntry[] = [];
  const state: UserStateEntry[] = [];
  const promises: { name: string; promise: WorkflowPromise }[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) invocation = decodeInvocation(r.bytes());
    else if (tag >>> 3 === 2) journal.push(decodeEntry(r.bytes()));
    else if (tag >>> 3 === 3) {
      const { text, bytes: value } = readPair(r.bytes());
      state.push({ key: toBinaryString(text), value });
    } else if (tag >>> 3 === 4) {
      const { text, bytes: row } = readPair(r.bytes());
      promises.push({ name: Buffer.from(text).toString(), promise: decodePromise(row) });
    } else r.skip(tag & 7);
  }
  invariant(invocation !== undefined, "a record of undo has its invocation");
  return { invocation, journal, state, promises };
}

export function encodeStateEditRecord({ service, key, isExclusive, waitsAt, changes }: StateEditRecord): Uint8Array {
  const w = writer.reset().string(1, service).string(2, key);
  if (isExclusive) w.bool(3, true);
  if (waitsAt !== undefined) w.uint64(4, waitsAt);
  for (const change of changes) writeChangedEntry(w, 5, change);
  return w.finish();
}

export function decodeStateEditRecord(bytes: Uint8Array): StateEditRecord {
  const r = new ProtoReader(bytes);
  let service = "";
  let key = "";
  let isExclusive = false;
  let waitsAt: number | undefined;
  const changes: ChangedEntry[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) service = r.string();
    else if (tag >>> 3 === 2) key = r.string();
    else if (tag >>> 3 === 3) isExclusive = r.bool();
    else if (tag >>> 3 === 4) waitsAt = r.uint64Number();
    else if (tag >>> 3 === 5) changes.push(decodeChangedEntry(r.bytes()));
    else r.skip(tag & 7);
  }
  return { service, key, isExclusive, waitsAt, changes };
}

function readPair(message: Uint8Array): { readonly text: Uint8Array; readonly bytes: Uint8Array } {
  const r = new ProtoReader(message);
  let text: Uint8Array = new Uint8Array(0);
  let bytes: Uint8Array = new Uint8Array(0);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) text = r.bytes();
    else if (tag >>> 3 === 2) bytes = r.bytes();
    else r.skip(tag & 7);
  }
  return { text, bytes };
}
