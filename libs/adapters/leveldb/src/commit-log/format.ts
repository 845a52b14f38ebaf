/**
 * The bytes of the commit log's segments:
 *
 *     segment   header, 4 KiB | record | record | … | zeros, or records of an earlier use of the file
 *     header    "PERDLOG1" | id of the log, 16 bytes | generation u64 | bytes u64 | tag u32 | CRC-32 of what is before it
 *     record    CRC-32 u32 | tag u32 | payload bytes u32 | 0 u32 | sequence u64 | payload | zeros up to a multiple of 8
 *
 * All integers are little-endian. The CRC-32 of a record continues the one of its segment's header, so that a record is valid only in the
 * segment for which it was written. Id and tag are random: bytes of users, and records of an earlier use, cannot pass for records.
 */
import { crc32 } from "node:zlib";

export const LOG_ID_BYTES = 16;
/** A block of the file system, so that no record shares a block with the header. */
export const SEGMENT_HEADER_BYTES = 4096;
export const RECORD_HEADER_BYTES = 24;
const MAGIC = Buffer.from("PERDLOG1", "latin1");
const ID_AT = 8;
const GENERATION_AT = 24;
const BYTES_AT = 32;
const TAG_AT = 40;
const HEADER_CRC_AT = 44;
const ALIGNMENT = 8;
const TWO_TO_32 = 0x1_0000_0000;

export interface SegmentHeader {
  /** Identifies the log among those of other databases and of earlier starts. */
  readonly id: Uint8Array;
  /** 1 for the first segment of a log, then one more for each next one. */
  readonly generation: number;
  /** Size of the file. */
  readonly bytes: number;
  /** Random; begins every record of the segment, after its checksum. */
  readonly tag: number;
  /** Checksum of the header, which the checksums of records continue. */
  readonly crc: number;
}

export interface LogRecord {
  readonly sequence: number;
  readonly payload: Uint8Array;
  /** Position after the record. */
  readonly end: number;
}

export function encodeSegmentHeader(header: Omit<SegmentHeader, "crc">): { readonly bytes: Buffer; readonly crc: number } {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  bytes.set(MAGIC);
  bytes.set(header.id, ID_AT);
  writeUint64(bytes, header.generation, GENERATION_AT);
  writeUint64(bytes, header.bytes, BYTES_AT);
  bytes.writeUInt32LE(header.tag, TAG_AT);
  const crc = crc32(bytes.subarray(0, HEADER_CRC_AT));
  bytes.writeUInt32LE(crc, HEADER_CRC_AT);
  return { bytes, crc };
}

/** Undefined when the bytes do not begin with a header. */
export function decodeSegmentHeader(segment: Uint8Array): SegmentHeader | undefined {
  if (segment.length < SEGMENT_HEADER_BYTES) return undefined;
  const bytes = viewOf(segment);
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const crc = crc32(bytes.subarray(0, HEADER_CRC_AT));
  if (bytes.readUInt32LE(HEADER_CRC_AT) !== crc) return undefined;
  return {
    id: Uint8Array.from(bytes.subarray(ID_AT, ID_AT + LOG_ID_BYTES)),
    generation: readUint64(bytes, GENERATION_AT),
    bytes: readUint64(bytes, BYTES_AT),
    tag: bytes.readUInt32LE(TAG_AT),
    crc,
  };
}

/** Bytes that a record with this payload takes in its segment. */
export function recordBytes(payloadBytes: number): number {
  return Math.ceil((RECORD_HEADER_BYTES + payloadBytes) / ALIGNMENT) * ALIGNMENT;
}

/**
 * Writes the header of a record in front of its payload. `bytes` is the whole record: the payload begins at `RECORD_HEADER_BYTES` and is
 * followed by zeros.
 */
export function sealRecord(bytes: Buffer, payloadBytes: number, sequence: number, segment: SegmentHeader): void {
  bytes.writeUInt32LE(segment.tag, 4);
  bytes.writeUInt32LE(payloadBytes, 8);
  bytes.writeUInt32LE(0, 12);
  writeUint64(bytes, sequence, 16);
  bytes.writeUInt32LE(crc32(bytes.subarray(4, RECORD_HEADER_BYTES + payloadBytes), segment.crc), 0);
}

/** The record at this position; undefined when there is none or it is not intact. */
export function readRecord(segment: Uint8Array, at: number, header: SegmentHeader): LogRecord | undefined {
  if (at + RECORD_HEADER_BYTES > segment.length) return undefined;
  const bytes = viewOf(segment);
  if (bytes.readUInt32LE(at + 4) !== header.tag) return undefined;
  const payloadBytes = bytes.readUInt32LE(at + 8);
  const end = at + recordBytes(payloadBytes);
  if (end > segment.length) return undefined;
  const payloadEnd = at + RECORD_HEADER_BYTES + payloadBytes;
  if (bytes.readUInt32LE(at) !== crc32(bytes.subarray(at + 4, payloadEnd), header.crc)) return undefined;
  return { sequence: readUint64(bytes, at + 16), payload: segment.subarray(at + RECORD_HEADER_BYTES, payloadEnd), end };
}

/** The first intact record that begins at `from` or later, wherever it begins; undefined when there is none. */
export function findRecord(segment: Uint8Array, from: number, header: SegmentHeader): LogRecord | undefined {
  const bytes = viewOf(segment);
  const tag = Buffer.alloc(4);
  tag.writeUInt32LE(header.tag);
  for (let at = bytes.indexOf(tag, from + 4); at !== -1; at = bytes.indexOf(tag, at + 1)) {
    const record = (at - 4) % ALIGNMENT === 0 ? readRecord(segment, at - 4, header) : undefined;
    if (record !== undefined) return record;
  }
  return undefined;
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function writeUint64(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32LE(value % TWO_TO_32, at);
  bytes.writeUInt32LE(Math.floor(value / TWO_TO_32), at + 4);
}

/** Values that are not exact numbers cannot occur: no log has 2⁵³ commits. */
function readUint64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * TWO_TO_32;
}
