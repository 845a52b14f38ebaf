/** The stored form of all rows but invocations, in protobuf wire format, so that later versions can add fields. */
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
  AttemptError,
  ChangedEntry,
  InboxEntry,
  JournalEntry,
  JournalEvent,
  ObjectLock,
  PromiseListener,
  QueuePause,
  StateMutation,
  UserStateEntry,
  WorkflowPromise,
} from "@perdure/state-machine";
import type { RowBytes } from "../kv/key-value.js";
import { PART_BYTES_MIN } from "./invocation.js";
import { decodeOutcome, writeOutcome } from "./outcome.js";

const writer = new ProtoWriter();

function readId(r: ProtoReader): InvocationId {
  return r.string() as InvocationId;
}

// ── journal entries: 6 bytes time, 2 bytes type, body ────────────────────────────────────────────

const ENTRY_HEADER_BYTES = 8;

export function encodeEntry(entry: JournalEntry): Uint8Array {
  const row = new Uint8Array(ENTRY_HEADER_BYTES + entry.body.length);
  writeEntryHeader(row, entry);
  row.set(entry.body, ENTRY_HEADER_BYTES);
  return row;
}

/** Like `encodeEntry`, with a large body as a separate part. */
export function entryRow(entry: JournalEntry): RowBytes {
  if (entry.body.length < PART_BYTES_MIN) return encodeEntry(entry);
  const header = new Uint8Array(ENTRY_HEADER_BYTES);
  writeEntryHeader(header, entry);
  return [header, entry.body];
}

function writeEntryHeader(row: Uint8Array, entry: JournalEntry): void {
  const high = Math.floor(entry.appendedAtMs / 65_536);
  row[0] = high >>> 24;
  row[1] = high >>> 16;
  row[2] = high >>> 8;
  row[3] = high;
  row[4] = entry.appendedAtMs >>> 8;
  row[5] = entry.appendedAtMs;
  row[6] = entry.type >>> 8;
  row[7] = entry.type;
}

export function decodeEntry(row: Uint8Array): JournalEntry {
  const at = (index: number): number => row[index] ?? 0;
  const high = at(0) * 16_777_216 + ((at(1) << 16) | (at(2) << 8) | at(3));
  return {
    type: (at(6) << 8) | at(7),
    body: row.subarray(ENTRY_HEADER_BYTES),
    appendedAtMs: high * 65_536 + ((at(4) << 8) | at(5)),
  };
}

// ── events ───────────────────────────────────────────────────────────────────────────────────────

export function encodeEvent(event: JournalEvent): Uint8Array {
  const w = writer.reset();
  w.uint32(1, event.kind === "transientError" ? 0 : 1)
    .uint32(2, event.afterIndex + 1)
    .uint64(3, event.atMs);
  const { error } = event;
  if (error !== undefined) {
    w.string(4, error.errorCode).uint32(5, error.code).string(6, error.message);
    if (error.stacktrace !== undefined) w.string(7, error.stacktrace);
    if (error.relatedCommandIndex !== undefined) w.uint32(8, error.relatedCommandIndex);
    if (error.relatedCommandName !== undefined) w.string(9, error.relatedCommandName);
    if (error.relatedCommandType !== undefined) w.uint32(10, error.relatedCommandType);
  }
  return w.finish();
}

export function decodeEvent(row: Uint8Array): JournalEvent {
  const r = new ProtoReader(row);
  let kind: JournalEvent["kind"] = "transientError";
  let afterIndex = -1;
  let atMs = 0;
  let errorCode: string | undefined;
  let code = 0;
  let message = "";
  let stacktrace: string | undefined;
  let relatedCommandIndex: number | undefined;
  let relatedCommandName: string | undefined;
  let relatedCommandType: number | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        kind = r.uint32() === 0 ? "transientError" : "paused";
        break;
      case 2:
        afterIndex = r.uint32() - 1;
        break;
      case 3:
        atMs = r.uint64Number();
        break;
      case 4:
        errorCode = r.string();
        break;
      case 5:
        code = r.uint32();
        break;
      case 6:
        message = r.string();
        break;
      case 7:
        stacktrace = r.string();
        break;
      case 8:
        relatedCommandIndex = r.uint32();
        break;
      case 9:
        relatedCommandName = r.string();
        break;
      case 10:
        relatedCommandType = r.uint32();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  const error: AttemptError | undefined =
    errorCode === undefined
      ? undefined
      : { errorCode, code, message, stacktrace, relatedCommandIndex, relatedCommandName, relatedCommandType };
  return { kind, afterIndex, atMs, error };
}

// ── locks and inboxes ────────────────────────────────────────────────────────────────────────────

export function encodeLock(lock: ObjectLock): Uint8Array {
  const w = writer.reset();
  if (lock.holder !== undefined) w.string(1, lock.holder);
  w.uint64(2, lock.head).uint64(3, lock.tail);
  if (lock.isStateChanged === true) w.bool(14, true);
  if (lock.isStateDue === true) w.bool(15, true);
  return w.finish();
}

export function decodeLock(row: Uint8Array): ObjectLock {
  const r = new ProtoReader(row);
  let holder: InvocationId | undefined;
  let head = 0;
  let tail = 0;
  const state: { isStateChanged?: boolean; isStateDue?: boolean } = {};
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) holder = readId(r);
    else if (tag >>> 3 === 2) head = r.uint64Number();
    else if (tag >>> 3 === 3) tail = r.uint64Number();
    else if (tag >>> 3 === 14) state.isStateChanged = r.bool();
    else if (tag >>> 3 === 15) state.isStateDue = r.bool();
    else r.skip(tag & 7);
  }
  return { holder, head, tail, ...state };
}

export function encodeInbox(entry: InboxEntry): Uint8Array {
  const w = writer.reset();
  if (entry.kind === "invocation") return w.string(1, entry.id).finish();
  w.bool(2, true);
  if (entry.expectedVersion !== undefined) w.string(3, entry.expectedVersion);
  writeStateEntries(w, 4, entry.entries);
  if (entry.undo !== undefined) {
    const { id, mark } = entry.undo;
    w.fork(5).string(1, id).string(2, mark.operation).uint64(3, mark.untilMs).join();
  }
  for (const change of entry.restored ?? []) writeChangedEntry(w, 6, change);
  return w.finish();
}

export function decodeInbox(row: Uint8Array): InboxEntry {
  const r = new ProtoReader(row);
  let id: InvocationId | undefined;
  let expectedVersion: string | undefined;
  const entries: UserStateEntry[] = [];
  let undo: StateMutation["undo"];
  const restored: ChangedEntry[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) id = readId(r);
    else if (tag >>> 3 === 3) expectedVersion = r.string();
    else if (tag >>> 3 === 4) entries.push(decodeStateEntry(r.bytes()));
    else if (tag >>> 3 === 5) undo = decodeUndoOfEdit(r.bytes());
    else if (tag >>> 3 === 6) restored.push(decodeChangedEntry(r.bytes()));
    else r.skip(tag & 7);
  }
  if (id !== undefined) return { kind: "invocation", id };
  return {
    kind: "stateMutation",
    expectedVersion,
    entries,
    ...(undo === undefined ? {} : { undo }),
    ...(restored.length === 0 ? {} : { restored }),
  };
}

function decodeUndoOfEdit(bytes: Uint8Array): NonNullable<StateMutation["undo"]> {
  const r = new ProtoReader(bytes);
  let id: InvocationId | undefined;
  let operation = "" as OperationId;
  let untilMs = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) id = readId(r);
    else if (tag >>> 3 === 2) operation = r.string() as OperationId;
    else if (tag >>> 3 === 3) untilMs = r.uint64Number();
    else r.skip(tag & 7);
  }
  invariant(id !== undefined, "an edit that can be undone has the id of its command");
  return { id, mark: { operation, untilMs } };
}

export function writeChangedEntry(w: ProtoWriter, field: number, { key, before, afterHash }: ChangedEntry): void {
  w.fork(field).bytes(1, fromBinaryString(key));
  if (before !== undefined) w.bytes(2, before);
  if (afterHash !== undefined) w.bytes(3, afterHash);
  w.join();
}

export function decodeChangedEntry(bytes: Uint8Array): ChangedEntry {
  const r = new ProtoReader(bytes);
  let key = "";
  let before: Uint8Array | undefined;
  let afterHash: Uint8Array | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) key = toBinaryString(r.bytes());
    else if (tag >>> 3 === 2) before = r.bytes();
    else if (tag >>> 3 === 3) afterHash = r.bytes();
    else r.skip(tag & 7);
  }
  return { key, before, afterHash };
}

/** `{1 key bytes, 2 value}` each. */
function writeStateEntries(w: ProtoWriter, field: number, entries: readonly UserStateEntry[]): void {
  for (const { key, value } of entries) w.fork(field).bytes(1, fromBinaryString(key)).bytes(2, value).join();
}

function decodeStateEntry(bytes: Uint8Array): UserStateEntry {
  const r = new ProtoReader(bytes);
  let key = "";
  let value: Uint8Array = new Uint8Array(0);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) key = toBinaryString(r.bytes());
    else if (tag >>> 3 === 2) value = r.bytes();
    else r.skip(tag & 7);
  }
  return { key, value };
}

// ── promises ─────────────────────────────────────────────────────────────────────────────────────

export function encodePromise(promise: WorkflowPromise): Uint8Array {
  const w = writer.reset();
  if (promise.kind === "completed") writeOutcome(w, 1, promise.outcome);
  else for (const listener of promise.listeners) writeListener(w, listener);
  return w.finish();
}

function writeListener(w: ProtoWriter, { id, generation, completionId }: PromiseListener): void {
  w.fork(2).string(1, id).uint32(2, completionId);
  if (generation !== undefined) w.uint64(3, generation);
  w.join();
}

export function decodePromise(row: Uint8Array): WorkflowPromise {
  const r = new ProtoReader(row);
  const listeners: PromiseListener[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) return { kind: "completed", outcome: decodeOutcome(r.bytes()) };
    if (tag >>> 3 === 2) listeners.push(decodeListener(r.bytes()));
    else r.skip(tag & 7);
  }
  return { kind: "pending", listeners };
}

function decodeListener(bytes: Uint8Array): PromiseListener {
  const r = new ProtoReader(bytes);
  let id: InvocationId | undefined;
  let generation: number | undefined;
  let completionId = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) id = readId(r);
    else if (tag >>> 3 === 2) completionId = r.uint32();
    else if (tag >>> 3 === 3) generation = r.uint64Number();
    else r.skip(tag & 7);
  }
  invariant(id !== undefined, "a promise listener names an invocation");
  return { id, generation, completionId };
}

// ── flow control ─────────────────────────────────────────────────────────────────────────────────

export function encodePause(pause: QueuePause): Uint8Array {
  const w = writer.reset().uint64(1, pause.pausedAtMs);
  if (pause.lock !== undefined) w.string(2, pause.lock.service).string(3, pause.lock.key);
  return w.finish();
}

export function decodePause(row: Uint8Array): QueuePause {
  const r = new ProtoReader(row);
  let pausedAtMs = 0;
  let service: string | undefined;
  let key = "";
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) pausedAtMs = r.uint64Number();
    else if (tag >>> 3 === 2) service = r.string();
    else if (tag >>> 3 === 3) key = r.string();
    else r.skip(tag & 7);
  }
  return { pausedAtMs, lock: service === undefined ? undefined : { service, key } };
}

export function encodeNumber(n: number): Uint8Array {
  return writer.reset().uint64(1, n).finish();
}

export function decodeNumber(row: Uint8Array): number {
  const r = new ProtoReader(row);
  let n = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) n = r.uint64Number();
    else r.skip(tag & 7);
  }
  return n;
}
