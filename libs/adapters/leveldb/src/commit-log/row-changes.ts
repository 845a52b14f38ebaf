/**
 * The payload of a record: the changes that one batch makes in LevelDB, in their order.
 *
 *     put      1 u8 | bytes of the key u32 | key, UTF-8 | bytes of the value u32 | value
 *     delete   2 u8 | bytes of the key u32 | key, UTF-8
 */
import { PerdureError } from "@perdure/base";
import { RECORD_HEADER_BYTES, recordBytes, type SegmentHeader, sealRecord } from "./format.js";

const PUT = 1;
const DELETE = 2;
/** Kind and two lengths. */
const CHANGE_BYTES = 9;
const UTF8_BYTES_PER_CHAR = 3;
const BUFFER_BYTES_MIN = 64 * 1024;
/** A buffer that grew beyond this for a large batch is given back after it. */
const BUFFER_BYTES_KEPT = 4 * 1024 * 1024;

/** Collects the changes of a batch as one record. The buffer is used again for the next batch. */
export class RecordEncoder {
  #buffer = Buffer.allocUnsafe(BUFFER_BYTES_MIN);
  #end = RECORD_HEADER_BYTES;

  /** Bytes of the record in its segment. */
  get bytes(): number {
    return recordBytes(this.#end - RECORD_HEADER_BYTES);
  }

  reset(): this {
    if (this.#buffer.length > BUFFER_BYTES_KEPT) this.#buffer = Buffer.allocUnsafe(BUFFER_BYTES_MIN);
    this.#end = RECORD_HEADER_BYTES;
    return this;
  }

  put(key: string, value: Uint8Array): void {
    this.#begin(PUT, key, value.length);
    this.#end = this.#buffer.writeUInt32LE(value.length, this.#end);
    this.#buffer.set(value, this.#end);
    this.#end += value.length;
  }

  del(key: string): void {
    this.#begin(DELETE, key, 0);
  }

  /** The whole record. Its bytes are valid until the next `reset`. */
  seal(sequence: number, segment: SegmentHeader): Buffer {
    const payloadBytes = this.#end - RECORD_HEADER_BYTES;
    this.#grow(this.bytes);
    const record = this.#buffer.subarray(0, this.bytes);
    record.fill(0, this.#end);
    sealRecord(record, payloadBytes, sequence, segment);
    return record;
  }

  #begin(kind: number, key: string, valueBytes: number): void {
    this.#grow(this.#end + CHANGE_BYTES + key.length * UTF8_BYTES_PER_CHAR + valueBytes);
    this.#end = this.#buffer.writeUInt8(kind, this.#end);
    const keyBytes = this.#buffer.write(key, this.#end + 4, "utf8");
    this.#end = this.#buffer.writeUInt32LE(keyBytes, this.#end) + keyBytes;
  }

  #grow(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#buffer.length));
    larger.set(this.#buffer.subarray(0, this.#end));
    this.#buffer = larger;
  }
}

/** An undefined value deletes the row. */
export type RowChange = readonly [key: string, value: Uint8Array | undefined];

/** Throws STO0006 when the payload, whose checksum is right, has another form: it was not written by this version. */
export function* rowChanges(payload: Uint8Array): Iterable<RowChange> {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  let at = 0;
  const take = (count: number): Buffer => {
    if (at + count > bytes.length) throw new PerdureError("STO0006", "a record of the commit log ends within a change");
    at += count;
    return bytes.subarray(at - count, at);
  };
  while (at < bytes.length) {
    const kind = take(1)[0];
    if (kind !== PUT && kind !== DELETE)
      throw new PerdureError("STO0006", `a record of the commit log has a change of unknown kind ${kind}`);
    const key = take(take(4).readUInt32LE()).toString("utf8");
    yield [key, kind === PUT ? take(take(4).readUInt32LE()) : undefined];
  }
}
