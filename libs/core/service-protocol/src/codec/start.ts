/** StartMessage (§2.2, §3.4): the first frame of every attempt, with the facts and the state a handler starts from. */
import { EMPTY_BYTES, ProtoReader, ProtoWriter } from "@perdure/base";
import { decodeOrFault, type ProtocolFault } from "../fault.js";
import type { ProtocolVersion } from "../versions.js";
import {
  enter,
  leave,
  lengthTag,
  varintTag,
  writeBytes,
  writeLong,
  writeNumber,
  writeOptionalText,
  writeText,
} from "./nested.js";

export interface StateEntry {
  readonly key: Uint8Array;
  /** May be empty; an empty value is not an absent one. */
  readonly value: Uint8Array;
}

export interface StartMessage {
  readonly kind: "start";
  /** The 24 raw bytes of the invocation id. */
  readonly id: Uint8Array;
  /** The invocation id as text. */
  readonly debugId: string;
  /** Journal entries that follow, commands and notifications alike. */
  readonly knownEntries: number;
  /** State entries in state key order (§3.4), which the caller must provide. */
  readonly state: readonly StateEntry[];
  /** False only when `state` is all there is. */
  readonly partialState: boolean;
  /** "" for plain services. */
  readonly key: string;
  readonly retryCountSinceLastStoredEntry: number;
  readonly durationSinceLastStoredEntryMs: number;
  /** Unsigned 64 bits. */
  readonly randomSeed: bigint;
  /** Written on v7 only, as are the two below. */
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
  readonly idempotencyKey: string | undefined;
}

const writer = new ProtoWriter();

/** Body of the Start frame. The seed is sent on every version: an SDK that does not support it skips it (§3.4). */
export function encodeStart(start: StartMessage, version: ProtocolVersion): Uint8Array {
  return writeStart(start, version).finish();
}

/** The same in pieces: large values of the state are those of `start`, and must not change as long as the pieces are used. */
export function encodeStartInPieces(start: StartMessage, version: ProtocolVersion): readonly Uint8Array[] {
  return writeStart(start, version).finishInPieces();
}

function writeStart(start: StartMessage, version: ProtocolVersion): ProtoWriter {
  const w = writer.reset();
  writeBytes(w, 1, start.id);
  writeText(w, 2, start.debugId);
  writeNumber(w, 3, start.knownEntries);
  for (const entry of start.state) writeStateEntry(w, entry);
  if (start.partialState) w.bool(5, true);
  writeText(w, 6, start.key);
  writeNumber(w, 7, start.retryCountSinceLastStoredEntry);
  writeLong(w, 8, start.durationSinceLastStoredEntryMs);
  writeLong(w, 9, start.randomSeed);
  if (version >= 7) {
    writeOptionalText(w, 10, start.scope);
    writeOptionalText(w, 11, start.limitKey);
    writeOptionalText(w, 12, start.idempotencyKey);
  }
  return w;
}

function writeStateEntry(w: ProtoWriter, entry: StateEntry): void {
  w.fork(4);
  writeBytes(w, 1, entry.key);
  writeBytes(w, 2, entry.value);
  w.join();
}

/** The other end of `encodeStart`, for simulated handlers and tests. A fault is RT0012. */
export function decodeStart(body: Uint8Array): StartMessage | ProtocolFault {
  return decodeOrFault("Start", readStart, body);
}

function readStart(body: Uint8Array): StartMessage {
  let id: Uint8Array = EMPTY_BYTES;
  let debugId = "";
  let knownEntries = 0;
  const state: StateEntry[] = [];
  let partialState = false;
  let key = "";
  let retryCountSinceLastStoredEntry = 0;
  let durationSinceLastStoredEntryMs = 0;
  let randomSeed = 0n;
  let scope: string | undefined;
  let limitKey: string | undefined;
  let idempotencyKey: string | undefined;
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) id = r.bytes();
    else if (tag === lengthTag(2)) debugId = r.string();
    else if (tag === varintTag(3)) knownEntries = r.uint32();
    else if (tag === lengthTag(4)) state.push(readStateEntry(r));
    else if (tag === varintTag(5)) partialState = r.bool();
    else if (tag === lengthTag(6)) key = r.string();
    else if (tag === varintTag(7)) retryCountSinceLastStoredEntry = r.uint32();
    else if (tag === varintTag(8)) durationSinceLastStoredEntryMs = r.uint64Number();
    else if (tag === varintTag(9)) randomSeed = r.uint64();
    else if (tag === lengthTag(10)) scope = r.string();
    else if (tag === lengthTag(11)) limitKey = r.string();
    else if (tag === lengthTag(12)) idempotencyKey = r.string();
    else r.skip(tag & 7);
  }
  return {
    kind: "start",
    id,
    debugId,
    knownEntries,
    state,
    partialState,
    key,
    retryCountSinceLastStoredEntry,
    durationSinceLastStoredEntryMs,
    randomSeed,
    scope,
    limitKey,
    idempotencyKey,
  };
}

function readStateEntry(r: ProtoReader): StateEntry {
  let key: Uint8Array = EMPTY_BYTES;
  let value: Uint8Array = EMPTY_BYTES;
  const outerEnd = enter(r);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) key = r.bytes();
    else if (tag === lengthTag(2)) value = r.bytes();
    else r.skip(tag & 7);
  }
  leave(r, outerEnd);
  return { key, value };
}
