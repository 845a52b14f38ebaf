/** Reads rows with parts in blob files and verifies them: a file that is missing or short is data corruption, never an empty value. */
import { closeSync, openSync, readvSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { causeCode, causeMessage, PerdureError } from "@perdure/base";
import { BLOB_PAGE_BYTES_MAX, BLOB_PIECE_BYTES } from "./limits.js";
import { type BlobReference, readValue, type StoredPart } from "./stored-value.js";

/** Directory of a database's blob files. */
export function blobDirectory(database: string): string {
  return `${database}-blobs`;
}

export function blobPath(directory: string, file: number): string {
  return join(directory, `${file}.blob`);
}

/** A value with buffers for its parts; bytes from files are read into `pieces`. */
interface Assembly {
  readonly row: Uint8Array;
  readonly reads: readonly SegmentRead[];
}

interface SegmentRead {
  readonly reference: BlobReference;
  /** Buffers for the bytes of the segment before, within and after the row's part. */
  readonly pieces: readonly Uint8Array[];
}

export class BlobReads {
  readonly #directory: string;

  constructor(database: string) {
    this.#directory = blobDirectory(database);
  }

  /** The row of a stored value, read synchronously. Throws STO0003 when a file is missing, short or changed. */
  rowSync(value: Uint8Array, marker: Uint8Array | undefined): Uint8Array {
    const parts = readValue(value, marker);
    if (parts instanceof Uint8Array) return parts;
    const { row, reads } = assemble(parts);
    for (const read of reads) this.#readSync(read);
    return row;
  }

  /** Like `rowSync`, but reads files in the thread pool; returns the row itself when no part is in a file. Rejects instead of throwing. */
  row(value: Uint8Array, marker: Uint8Array | undefined, firstPart = false): Uint8Array | Promise<Uint8Array> {
    const parts = readValue(value, marker);
    if (parts instanceof Uint8Array) return parts;
    const [first] = parts;
    return firstPart && first instanceof Uint8Array ? first : this.#read(parts);
  }

  /** The rows of a page, in groups whose memory stays within a bound. `firstParts` as for `KeyValue.values`. */
  async *pages(
    values: readonly Uint8Array[],
    marker: Uint8Array | undefined,
    firstParts: boolean,
  ): AsyncIterable<readonly Uint8Array[]> {
    let rows: Uint8Array[] = [];
    let bytes = 0;
    for (const value of values) {
      const row = this.row(value, marker, firstParts);
      if (row instanceof Uint8Array) {
        rows.push(row);
        continue;
      }
      const whole = await row;
      rows.push(whole);
      bytes += whole.length;
      if (bytes < BLOB_PAGE_BYTES_MAX) continue;
      yield rows;
      rows = [];
      bytes = 0;
    }
    if (rows.length > 0) yield rows;
  }

  #readSync({ reference, pieces }: SegmentRead): void {
    let crc = 0;
    try {
      const file = openSync(blobPath(this.#directory, reference.file), "r");
      try {
        checkLength(reference, readvSync(file, pieces, reference.position));
      } finally {
        closeSync(file);
      }
    } catch (cause) {
      throw damage(reference, cause);
    }
    for (const piece of pieces) crc = crc32(piece, crc);
    checkSum(reference, crc);
  }

  async #read(parts: readonly StoredPart[]): Promise<Uint8Array> {
    const { row, reads } = assemble(parts);
    for (const { reference, pieces } of reads) {
      try {
        await using file = await open(blobPath(this.#directory, reference.file), "r");
        checkLength(reference, (await file.readv(pieces, reference.position)).bytesRead);
      } catch (cause) {
        throw damage(reference, cause);
      }
      let crc = 0;
      for (const piece of pieces) {
        for (let at = 0; at < piece.length; at += BLOB_PIECE_BYTES) {
          if (at > 0) await setImmediate();
          crc = crc32(piece.subarray(at, at + BLOB_PIECE_BYTES), crc);
        }
      }
      checkSum(reference, crc);
    }
    return row;
  }
}

function assemble(parts: readonly StoredPart[]): Assembly {
  let bytes = 0;
  for (const part of parts) bytes += part instanceof Uint8Array ? part.length : part.bytes;
  // Not initialized: every byte is read or copied below, or an error is thrown.
  const row = new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
  const reads: SegmentRead[] = [];
  let at = 0;
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      row.set(part, at);
      at += part.length;
      continue;
    }
    const before = new Uint8Array(part.from);
    const after = new Uint8Array(part.length - part.from - part.bytes);
    reads.push({
      reference: part,
      pieces: [before, row.subarray(at, at + part.bytes), after].filter(({ length }) => length > 0),
    });
    at += part.bytes;
  }
  return { row, reads };
}

function checkLength({ file, length }: BlobReference, read: number): void {
  if (read < length) throw new PerdureError("STO0003", `blob file ${file} is too short: ${read} of ${length} bytes were read`);
}

function checkSum({ file, crc }: BlobReference, actual: number): void {
  if (actual !== crc) throw new PerdureError("STO0003", `blob file ${file} is damaged: its checksum is wrong`);
}

function damage({ file }: BlobReference, cause: unknown): PerdureError {
  if (cause instanceof PerdureError) return cause;
  if (causeCode(cause) === "ENOENT") return new PerdureError("STO0003", `blob file ${file} is missing`, { cause });
  return new PerdureError("STO0001", `blob file ${file} cannot be read: ${causeMessage(cause)}`, { cause });
}
