/**
 * The messages inside messages (§2.5), read and written in place: a nested message narrows the reader instead of making another one. Fields
 * are matched by whole tag (number and wire type); any other field is skipped, as protobuf requires, so that newer SDKs can add fields.
 */
import { EMPTY_BYTES, ProtoError, type ProtoReader, type ProtoWriter } from "@perdure/base";
import type { Failure, Header, ResultValue } from "../values.js";

/** Tag of a varint field. */
export function varintTag(field: number): number {
  return field << 3;
}

/** Tag of a length-delimited field: text, bytes, submessages, packed lists. */
export function lengthTag(field: number): number {
  return (field << 3) | 2;
}

/** Completion id of a command's result, where it has one. */
export const resultIdTag = varintTag(11);

/** Label of a command, on all of them. */
export const nameTag = lengthTag(12);

/** Steps into the submessage the reader stands before; returns what `leave` needs to step out again. */
export function enter(r: ProtoReader): number {
  const outerEnd = r.end;
  const { start, end } = r.message();
  r.pos = start;
  r.end = end;
  return outerEnd;
}

export function leave(r: ProtoReader, outerEnd: number): void {
  r.end = outerEnd;
}

/** A mandatory part of a message did not come. */
export function missing(part: string): ProtoError {
  return new ProtoError(`missing ${part}`);
}

/** `Value`: its content, zero bytes when the field is left out. */
export function readValue(r: ProtoReader): Uint8Array {
  let content = EMPTY_BYTES;
  const outerEnd = enter(r);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) content = r.bytes();
    else r.skip(tag & 7);
  }
  leave(r, outerEnd);
  return content;
}

/** `Value` at `field`. Zero bytes are written as such: an empty value is not the same as none. */
export function writeValue(w: ProtoWriter, field: number, value: Uint8Array): void {
  w.fork(field);
  if (value.length > 0) w.bytes(1, value);
  w.join();
}

export function readStateKeys(r: ProtoReader): Uint8Array[] {
  const keys: Uint8Array[] = [];
  const outerEnd = enter(r);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) keys.push(r.bytes());
    else r.skip(tag & 7);
  }
  leave(r, outerEnd);
  return keys;
}

export function writeStateKeys(w: ProtoWriter, field: number, keys: readonly Uint8Array[]): void {
  w.fork(field);
  for (const key of keys) w.bytes(1, key);
  w.join();
}

/** A pair of texts: `Header` and an entry of `Failure.metadata` look the same on the wire. */
export function readHeader(r: ProtoReader): Header {
  let key = "";
  let value = "";
  const outerEnd = enter(r);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) key = r.string();
    else if (tag === lengthTag(2)) value = r.string();
    else r.skip(tag & 7);
  }
  leave(r, outerEnd);
  return { key, value };
}

export function writeHeaders(w: ProtoWriter, field: number, headers: readonly Header[]): void {
  for (const { key, value } of headers) {
    w.fork(field);
    writeText(w, 1, key);
    writeText(w, 2, value);
    w.join();
  }
}

export function readFailure(r: ProtoReader): Failure {
  let code = 0;
  let message = "";
  const metadata: Header[] = [];
  const outerEnd = enter(r);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === varintTag(1)) code = r.uint32();
    else if (tag === lengthTag(2)) message = r.string();
    else if (tag === lengthTag(3)) metadata.push(readHeader(r));
    else r.skip(tag & 7);
  }
  leave(r, outerEnd);
  return { code, message, metadata };
}

export function writeFailure(w: ProtoWriter, field: number, failure: Failure): void {
  w.fork(field);
  writeNumber(w, 1, failure.code);
  writeText(w, 2, failure.message);
  writeHeaders(w, 3, failure.metadata);
  w.join();
}

/** Whichever of the three comes, at the fields the message in question gives them. */
export function writeResult(
  w: ProtoWriter,
  result: ResultValue,
  voidField: number,
  valueField: number,
  failureField: number,
): void {
  if (result.kind === "value") writeValue(w, valueField, result.value);
  else if (result.kind === "failure") writeFailure(w, failureField, result.failure);
  else w.fork(voidField).join();
}

/** Text with implicit presence: "" is left out. */
export function writeText(w: ProtoWriter, field: number, text: string): void {
  if (text !== "") w.string(field, text);
}

/** Text with explicit presence: only `undefined` is left out. */
export function writeOptionalText(w: ProtoWriter, field: number, text: string | undefined): void {
  if (text !== undefined) w.string(field, text);
}

/** 32-bit number with implicit presence: 0 is left out. */
export function writeNumber(w: ProtoWriter, field: number, n: number): void {
  if (n !== 0) w.uint32(field, n);
}

/** 64-bit number with implicit presence: 0 is left out. */
export function writeLong(w: ProtoWriter, field: number, n: number | bigint): void {
  if (n !== 0 && n !== 0n) w.uint64(field, n);
}

/** Bytes with implicit presence: none are left out. */
export function writeBytes(w: ProtoWriter, field: number, bytes: Uint8Array): void {
  if (bytes.length > 0) w.bytes(field, bytes);
}
