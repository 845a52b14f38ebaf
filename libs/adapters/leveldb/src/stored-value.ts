/**
 * The encoding of values in LevelDB. Most values are unchanged rows. A value that begins with its directory's marker, 16 random bytes made
 * with the first blob file, has one of two other forms:
 *
 *     marker | 0 | row                    a row that happens to begin with the marker
 *     marker | 1 | field 1: bytes, field 2: reference, in the order of the row
 *
 * A reference is `{1 file, 2 position, 3 length, 4 CRC-32, 5 from, 6 bytes}`: a segment of a file, which is read and checked as a whole,
 * and the part of it that belongs to the row. Rows contain bytes of users, which must not be able to forge a reference: hence the
 * marker is random, and rows that begin with it are escaped.
 */
import { PerdureError, ProtoReader, ProtoWriter } from "@perdure/base";

export const MARKER_BYTES = 16;
const ESCAPED = 0;
const IN_PARTS = 1;

/** End of all rows, whose characters are 0–255. */
export const ROWS_END = "\u0100";
/** Key of the marker; missing in directories without blob files. */
export const MARKER_KEY = "\u0101";
/** Prefix of keys that list the blob files of a row, followed by the row's key. */
export const OWNER_PREFIX = "\u0102";
export const OWNERS_END = "\u0103";

/** Location of bytes of a row in a blob file. */
export interface BlobReference {
  readonly file: number;
  readonly position: number;
  /** Length of the segment. */
  readonly length: number;
  readonly crc: number;
  /** The bytes `from` … `from + bytes` of the segment belong to the row. */
  readonly from: number;
  readonly bytes: number;
}

export type StoredPart = Uint8Array | BlobReference;

const writer = new ProtoWriter();

function beginsWithMarker(value: Uint8Array, marker: Uint8Array): boolean {
  if (value.length <= MARKER_BYTES || value[0] !== marker[0]) return false;
  for (let i = 1; i < MARKER_BYTES; i++) if (value[i] !== marker[i]) return false;
  return true;
}

/** Encodes a row that is stored whole. */
export function wholeValue(row: Uint8Array, marker: Uint8Array | undefined): Uint8Array {
  if (marker === undefined || !beginsWithMarker(row, marker)) return row;
  const value = new Uint8Array(MARKER_BYTES + 1 + row.length);
  value.set(marker);
  value[MARKER_BYTES] = ESCAPED;
  value.set(row, MARKER_BYTES + 1);
  return value;
}

export function valueInParts(parts: readonly StoredPart[], marker: Uint8Array): Uint8Array {
  const w = writer.reset().raw(marker).raw(Uint8Array.of(IN_PARTS));
  for (const part of parts) {
    if (part instanceof Uint8Array) w.bytes(1, part);
    else
      w.fork(2)
        .uint64(1, part.file)
        .uint64(2, part.position)
        .uint64(3, part.length)
        .uint32(4, part.crc)
        .uint64(5, part.from)
        .uint64(6, part.bytes)
        .join();
  }
  return w.finish();
}

/** The row itself, or its parts when some are in blob files. Throws STO0003 when a value with the marker cannot be read. */
export function readValue(value: Uint8Array, marker: Uint8Array | undefined): Uint8Array | readonly StoredPart[] {
  if (marker === undefined || !beginsWithMarker(value, marker)) return value;
  if (value[MARKER_BYTES] === ESCAPED) return value.subarray(MARKER_BYTES + 1);
  if (value[MARKER_BYTES] !== IN_PARTS)
    throw new PerdureError("STO0003", `a stored value of unknown kind ${value[MARKER_BYTES]}`);
  const parts: StoredPart[] = [];
  const r = new ProtoReader(value, MARKER_BYTES + 1);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) parts.push(r.bytes());
    else if (tag >>> 3 === 2) parts.push(readReference(r.bytes()));
    else r.skip(tag & 7);
  }
  return parts;
}

function readReference(bytes: Uint8Array): BlobReference {
  const r = new ProtoReader(bytes);
  const fields = [0, 0, 0, 0, 0, 0, 0];
  while (r.hasMore()) {
    const tag = r.tag();
    const field = tag >>> 3;
    if (field >= 1 && field <= 6 && (tag & 7) === 0) fields[field] = r.uint64Number();
    else r.skip(tag & 7);
  }
  const [, file = 0, position = 0, length = 0, crc = 0, from = 0, count = 0] = fields;
  if (from + count > length) throw new PerdureError("STO0003", `a reference to blob file ${file} exceeds its segment`);
  return { file, position, length, crc, from, bytes: count };
}

/** The files that a row refers to, with their sizes. */
export function encodeOwner(files: Iterable<{ readonly number: number; readonly bytes: number }>): Uint8Array {
  const w = writer.reset();
  for (const { number, bytes } of files) w.fork(1).uint64(1, number).uint64(2, bytes).join();
  return w.finish();
}

export function decodeOwner(value: Uint8Array): { readonly number: number; readonly bytes: number }[] {
  const files: { number: number; bytes: number }[] = [];
  const r = new ProtoReader(value);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) files.push(decodeFile(r.bytes()));
    else r.skip(tag & 7);
  }
  return files;
}

function decodeFile(bytes: Uint8Array): { number: number; bytes: number } {
  const r = new ProtoReader(bytes);
  let number = 0;
  let size = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) number = r.uint64Number();
    else if (tag >>> 3 === 2) size = r.uint64Number();
    else r.skip(tag & 7);
  }
  return { number, bytes: size };
}
