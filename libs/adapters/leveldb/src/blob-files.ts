/**
 * Large payloads in files of their own, beside the database. LevelDB would copy one into its batch on the event loop, checksum and
 * compress it, hold up every other commit while its log is synced, and copy it again in compactions.
 *
 *     payload ▸ written and synced ▸ batch with rows that refer to the file ▸ … ▸ batch without ▸ reads have ended ▸ file removed
 *
 * A file holds one payload or several small ones, and is never changed. It exists as long as a row refers to it or a caller holds it;
 * which rows do is stored with them. After a crash, files without a row are removed when the database is opened.
 *
 * Several writers of a database (`openLevelWriter`) share the directory. Each removes the files of its own rows.
 */
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { present } from "@perdure/base";
import { blobDirectory, blobPath } from "./blob-reads.js";
import type { DatabaseMemory } from "./database-memory.js";
import { BLOB_GROUP_BYTES_MAX, BLOB_HELD_MS_MAX, BLOB_PIECE_BYTES, BLOB_REMOVE_RETRY_MS } from "./limits.js";
import type { BlobReference } from "./stored-value.js";
import { BLOB_FORMAT, raiseFormat } from "./version-file.js";

export class BlobFile {
  readonly number: number;
  readonly bytes: number;
  /** Rows of this writer that refer to the file, and callers that are about to store such rows. */
  holderCount = 0;
  /** Rows of this writer that referred to the file when the writer was opened. */
  readonly formerRowCount: number;

  constructor(number: number, bytes: number, formerRowCount = 0) {
    this.number = number;
    this.bytes = bytes;
    this.formerRowCount = formerRowCount;
    this.holderCount = formerRowCount;
  }
}

/** Bytes in memory that are also in a file. They must not change meanwhile. */
export class BlobSegment {
  readonly file: BlobFile;
  readonly #bytes: Uint8Array;
  readonly #position: number;
  readonly #crc: number;

  constructor(file: BlobFile, bytes: Uint8Array, position: number, crc: number) {
    this.file = file;
    this.#bytes = bytes;
    this.#position = position;
    this.#crc = crc;
  }

  /** Whether the part is the segment or a view of a range of it. */
  contains(part: Uint8Array): boolean {
    return contains(this.#bytes, part);
  }

  reference(part: Uint8Array): BlobReference {
    return {
      file: this.file.number,
      position: this.#position,
      length: this.#bytes.length,
      crc: this.#crc,
      from: part.byteOffset - this.#bytes.byteOffset,
      bytes: part.length,
    };
  }
}

/** Whether the memory of `part` is within that of `whole`. */
export function contains(whole: Uint8Array, part: Uint8Array): boolean {
  const from = part.byteOffset - whole.byteOffset;
  return part.buffer === whole.buffer && from >= 0 && from + part.length <= whole.length;
}

interface QueuedBlob {
  readonly bytes: Uint8Array;
  readonly staged: (segment: BlobSegment) => void;
  readonly failed: (cause: unknown) => void;
}

/** A file without rows that reads may still need. */
interface FreeFile {
  readonly file: BlobFile;
  /** Period of reads in which the file was freed. */
  readonly period: number;
  readonly freedAtMs: number;
}

export class BlobFiles {
  readonly #database: string;
  readonly #directory: string;
  readonly #memory: DatabaseMemory;
  /** The directory's handle; the directory is created with the first file. */
  #made: Promise<FileHandle> | undefined;
  readonly #staged = new Map<ArrayBufferLike, BlobSegment[]>();
  readonly #waiting: QueuedBlob[] = [];
  #staging: Promise<void> | undefined;
  /** In the order in which they were freed. */
  #free: FreeFile[] = [];
  #removal: NodeJS.Timeout | undefined;
  readonly #removing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(database: string, memory: DatabaseMemory) {
    this.#database = database;
    this.#directory = blobDirectory(database);
    this.#memory = memory;
  }

  /** The staged segment that contains the part. */
  find(part: Uint8Array): BlobSegment | undefined {
    return this.#staged.size === 0 ? undefined : this.#staged.get(part.buffer)?.find((segment) => segment.contains(part));
  }

  /**
   * Writes bytes before the batch that stores rows with them. They must not change until the result is disposed of, which frees the file
   * unless rows refer to it. Rejects like `write`.
   */
  async stage(bytes: Uint8Array): Promise<Disposable> {
    const segment = await new Promise<BlobSegment>((staged, failed) => {
      this.#waiting.push({ bytes, staged, failed });
      this.#staging ??= this.#stageWaiting();
    });
    const { buffer } = bytes;
    const segments = this.#staged.get(buffer);
    if (segments === undefined) this.#staged.set(buffer, [segment]);
    else segments.push(segment);
    let isStaged = true;
    return {
      [Symbol.dispose]: () => {
        if (!isStaged) return;
        isStaged = false;
        const left = this.#staged.get(buffer)?.filter((each) => each !== segment) ?? [];
        if (left.length === 0) this.#staged.delete(buffer);
        else this.#staged.set(buffer, left);
        this.release(segment.file);
      },
    };
  }

  /** One file at a time, so that large payloads leave most threads of the pool to others. */
  async #stageWaiting(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      let count = 1;
      for (let bytes = first.bytes.length; count < this.#waiting.length; count++) {
        bytes += this.#waiting[count]?.bytes.length ?? 0;
        if (bytes > BLOB_GROUP_BYTES_MAX) break;
      }
      const group = this.#waiting.splice(0, count);
      try {
        const segments = await this.write(group.map(({ bytes }) => bytes));
        for (const [index, { staged }] of group.entries()) staged(present(segments[index]));
      } catch (cause) {
        for (const { failed } of group) failed(cause);
      }
    }
    this.#staging = undefined;
  }

  /**
   * Writes a file with these payloads, durable when it resolves; the caller holds the file once for each of them. Rejects with the error
   * of the file system, and leaves no file then.
   */
  async write(payloads: readonly Uint8Array[]): Promise<readonly BlobSegment[]> {
    const directory = await this.#make();
    const number = this.#memory.takeFileNumber();
    const path = blobPath(this.#directory, number);
    const checksums: number[] = [];
    let bytes = 0;
    try {
      await using file = await open(path, "wx");
      for (const payload of payloads) {
        let crc = 0;
        for (let at = 0; at < payload.length; at += BLOB_PIECE_BYTES) {
          const piece = payload.subarray(at, at + BLOB_PIECE_BYTES);
          crc = crc32(piece, crc);
          await writeWhole(file, piece, bytes + at);
        }
        checksums.push(crc);
        bytes += payload.length;
      }
      await file.datasync();
    } catch (cause) {
      await rm(path, { force: true }).catch(() => undefined); // The next start removes what could not be removed now.
      throw cause;
    }
    await directory.sync();
    const blob = new BlobFile(number, bytes);
    blob.holderCount = payloads.length;
    this.#memory.addFileBytes(bytes);
    let position = 0;
    return payloads.map((payload, index) => {
      const segment = new BlobSegment(blob, payload, position, present(checksums[index]));
      position += payload.length;
      return segment;
    });
  }

  /** Releases a caller's hold. The last release frees the file. */
  release(file: BlobFile): void {
    if (--file.holderCount > 0 || this.#isClosed) return;
    if (file.formerRowCount > 0 && !this.#memory.releaseFormerRows(file.number, file.formerRowCount)) return;
    this.#free.push({ file, period: this.#memory.holds.period, freedAtMs: performance.now() });
    this.#removeFree();
  }

  #make(): Promise<FileHandle> {
    this.#made ??= makeDirectory(this.#database, this.#directory);
    this.#made.catch(() => {
      this.#made = undefined; // The next call retries.
    });
    return this.#made;
  }

  /** Removes free files that reads no longer need, now or when those reads have ended. */
  #removeFree(): void {
    const { holds } = this.#memory;
    for (;;) {
      const overdueMs = performance.now() - BLOB_HELD_MS_MAX;
      let count = 0;
      for (const { file, period, freedAtMs } of this.#free) {
        if (!holds.haveEnded(period) && freedAtMs > overdueMs) break;
        this.#remove(file);
        count++;
      }
      this.#free.splice(0, count);
      if (this.#free.length === 0) return;
      if (!holds.advance()) break;
    }
    this.#removal ??= setTimeout(() => {
      this.#removal = undefined;
      this.#removeFree();
    }, BLOB_REMOVE_RETRY_MS).unref();
  }

  #remove({ number, bytes }: BlobFile): void {
    // The next start removes what could not be removed now.
    const removing = rm(blobPath(this.#directory, number), { force: true }).catch(() => undefined);
    this.#removing.add(removing);
    void removing.then(() => {
      this.#memory.addFileBytes(-bytes);
      this.#removing.delete(removing);
    });
  }

  /** Call it when nothing is staged or written any more. Files that reads may still need are removed at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#removal);
    await this.#staging;
    await Promise.all(this.#removing);
    const directory = await this.#made?.catch(() => undefined);
    await directory?.close();
  }
}

async function writeWhole(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
}

/**
 * Raises the storage format, so that earlier versions refuse the database: they would read references as rows. The directory is made first:
 * a commit log that ends meanwhile decides by it which format stays.
 */
async function makeDirectory(database: string, directory: string): Promise<FileHandle> {
  await mkdir(directory, { recursive: true });
  await raiseFormat(database, BLOB_FORMAT);
  const parent = await open(dirname(directory), "r");
  try {
    await parent.sync();
  } finally {
    await parent.close();
  }
  return open(directory, "r");
}
