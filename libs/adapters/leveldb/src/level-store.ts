/** One writer's view of a LevelDB with files for large payloads. */
import { setImmediate } from "node:timers/promises";
import { present } from "@perdure/base";
import { type KeyValue, type RowBytes, rowOf } from "@perdure/storage";
import type { BinaryLevel } from "./binary-level.js";
import { type BlobFile, BlobFiles, type BlobSegment, contains } from "./blob-files.js";
import type { BlobOwners } from "./blob-owners.js";
import { BlobReads } from "./blob-reads.js";
import type { LevelCommits, RowBatch } from "./commit-log/level-commits.js";
import { logDirectory } from "./commit-log/ownership.js";
import type { DatabaseMemory } from "./database-memory.js";
import { BLOB_BYTES_MIN } from "./limits.js";
import { logBytesIn } from "./log-bytes.js";
import { writeFailure } from "./open-failure.js";
import { encodeOwner, MARKER_KEY, OWNER_PREFIX, OWNERS_END, ROWS_END, valueInParts, wholeValue } from "./stored-value.js";

/** Bytes of values that are copied into native memory before the event loop runs other tasks; about 10 ms. */
const COPIED_BYTES_MAX = 4 * 1024 * 1024;
/** Rows passed to LevelDB in one call, about 10 ms: deleting a long journal has a hundred thousand rows. */
const ROWS_AT_ONCE_MAX = 4_096;
/** Rows fetched from an iterator at a time. */
const SCAN_PAGE = 256;

/** A key-value engine that measures its size and can compact. */
export interface LevelStore extends KeyValue {
  readonly staging: NonNullable<KeyValue["staging"]>;
  /**
   * Bytes on disk of all writers, files of the commit log included, roughly: deleted data counts until it is compacted. Reads no data, so
   * it may be called often.
   */
  storedBytes(): Promise<number>;
  /** Counts the batches of all writers since the database was opened: what is stored is unchanged while the number is. */
  readonly batches: number;
  /** Frees the disk space of deleted data. Takes long with much data, in a thread of its own. */
  compact(): Promise<void>;
}

/** What `LevelKeyValue` gets from the functions that open a database; it owns all of it. */
export interface OpenedLevel {
  readonly db: BinaryLevel;
  readonly commits: LevelCommits;
  readonly directory: string;
  readonly memory: DatabaseMemory;
  /** Rows of this writer with parts in files. */
  readonly owners: BlobOwners;
  readonly isMarkerStored: boolean;
  /** Whether this writer is the one that writes the row. */
  readonly isOwn: (key: string) => boolean;
  /** Called first when the store is disposed of. When it throws, nothing is closed. */
  readonly onClose: () => void;
  /** Called when the database is closed. */
  readonly onClosed: () => void;
}

export class LevelKeyValue implements LevelStore {
  readonly staging: LevelStore["staging"];
  readonly #level: OpenedLevel;
  readonly #db: BinaryLevel;
  readonly #commits: LevelCommits;
  readonly #memory: DatabaseMemory;
  readonly #blobs: BlobFiles;
  readonly #reads: BlobReads;
  /** Files of each row with parts in files, by the row's key, each once. */
  readonly #owners: BlobOwners;
  #isMarkerStored: boolean;

  constructor(level: OpenedLevel) {
    this.#level = level;
    this.#db = level.db;
    this.#commits = level.commits;
    this.#memory = level.memory;
    this.#blobs = new BlobFiles(level.directory, level.memory);
    this.#reads = new BlobReads(level.directory);
    this.#owners = level.owners;
    this.#isMarkerStored = level.isMarkerStored;
    this.staging = { bytesMin: BLOB_BYTES_MIN, stage: (bytes) => this.#blobs.stage(bytes) };
  }

  get batches(): number {
    return this.#memory.batches;
  }

  /** Undefined until there are blob files. Read it after the values that may have it. */
  get #marker(): Uint8Array | undefined {
    return this.#memory.marker.bytes;
  }

  get(key: string): Uint8Array | undefined {
    if (this.#level.isOwn(key)) return this.#get(key);
    const release = this.#memory.holds.hold(); // Another thread could remove the row's files between the two reads.
    try {
      return this.#get(key);
    } finally {
      release();
    }
  }

  #get(key: string): Uint8Array | undefined {
    const value = this.#db.getSync(key);
    return value === undefined ? undefined : this.#reads.rowSync(value, this.#marker);
  }

  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const release = this.#memory.holds.hold();
    try {
      const rows: (Uint8Array | undefined)[] = [];
      const values = await this.#db.getMany([...keys]);
      await this.#commits.pending(keys);
      for (const value of values) {
        const row = value === undefined ? undefined : this.#reads.row(value, this.#marker);
        rows.push(row instanceof Promise ? await row : row);
      }
      return rows;
    } finally {
      release();
    }
  }

  async write(batch: ReadonlyMap<string, RowBytes | null>): Promise<void> {
    try {
      const segments = await this.#writeBlobs(batch);
      const owners = new Map<string, readonly BlobFile[]>();
      await this.#commits.write(batch, (rows) => this.#putRows(rows, batch, segments, owners));
      this.#memory.countBatch();
      this.#updateHolds(batch, owners, segments);
    } catch (cause) {
      throw writeFailure(batch.size, cause);
    }
  }

  /** Adds the rows of a batch; `owners` gets the files of rows that have some. */
  async #putRows(
    rows: RowBatch,
    batch: ReadonlyMap<string, RowBytes | null>,
    segments: ReadonlyMap<Uint8Array, BlobSegment>,
    owners: Map<string, readonly BlobFile[]>,
  ): Promise<void> {
    let bytes = 0;
    let count = 0;
    for (const [key, row] of batch) {
      if (++count % ROWS_AT_ONCE_MAX === 0) await setImmediate();
      const owned = row === null ? undefined : this.#putParts(rows, key, row, segments);
      if (owned !== undefined) owners.set(key, owned);
      if (owned === undefined && this.#owners.size > 0 && this.#owners.has(key)) rows.del(OWNER_PREFIX + key);
      if (row === null) rows.del(key);
      if (row === null || owned !== undefined) continue;
      const value = rowOf(row);
      if (bytes + value.length > COPIED_BYTES_MAX) {
        await setImmediate();
        bytes = 0;
      }
      bytes += value.length;
      rows.put(key, wholeValue(value, this.#marker));
    }
    if (owners.size > 0 && !this.#isMarkerStored) rows.put(MARKER_KEY, present(this.#marker));
  }

  /** Segments of every large part of the batch, staged before or written now. Each segment's file is held once for the batch. */
  async #writeBlobs(batch: ReadonlyMap<string, RowBytes | null>): Promise<ReadonlyMap<Uint8Array, BlobSegment>> {
    let large: Uint8Array[] | undefined;
    for (const row of batch.values()) {
      if (row === null || (row instanceof Uint8Array && row.length < BLOB_BYTES_MIN)) continue;
      for (const part of partsOf(row)) {
        if (part.length < BLOB_BYTES_MIN) continue;
        large ??= [];
        large.push(part);
      }
    }
    if (large === undefined) return NO_SEGMENTS;
    this.#memory.marker.use();
    const segments = new Map<Uint8Array, BlobSegment>();
    const missing: Uint8Array[] = [];
    // Longest first: shorter parts can be ranges of longer ones, such as a value within the journal entry that carried it.
    for (const part of large.sort((a, b) => b.length - a.length)) {
      const staged = this.#blobs.find(part);
      if (staged !== undefined && !segments.has(part)) {
        staged.file.holderCount++;
        segments.set(part, staged);
      } else if (staged === undefined && !missing.some((each) => contains(each, part))) missing.push(part);
    }
    const written = missing.length === 0 ? [] : await this.#blobs.write(missing);
    for (const [index, part] of missing.entries()) segments.set(part, present(written[index]));
    for (const part of large) {
      const segment = segments.has(part) ? undefined : written.find((each) => each.contains(part));
      if (segment === undefined) continue;
      segment.file.holderCount++;
      segments.set(part, segment);
    }
    return segments;
  }

  /** Stores a row whose large parts are in files; returns those files, or undefined when there are none. */
  #putParts(
    batch: RowBatch,
    key: string,
    row: RowBytes,
    segments: ReadonlyMap<Uint8Array, BlobSegment>,
  ): readonly BlobFile[] | undefined {
    if (segments.size === 0) return undefined;
    const files = new Set<BlobFile>();
    const parts = partsOf(row).map((part) => {
      const segment = segments.get(part);
      if (segment === undefined) return part;
      files.add(segment.file);
      return segment.reference(part);
    });
    if (files.size === 0) return undefined;
    batch.put(key, valueInParts(parts, present(this.#marker)));
    batch.put(OWNER_PREFIX + key, encodeOwner(files));
    return [...files];
  }

  /** Records after a durable batch that its rows hold their files, and that replaced rows release theirs. */
  #updateHolds(
    batch: ReadonlyMap<string, RowBytes | null>,
    owners: ReadonlyMap<string, readonly BlobFile[]>,
    segments: ReadonlyMap<Uint8Array, BlobSegment>,
  ): void {
    if (owners.size > 0) this.#isMarkerStored = true;
    for (const files of owners.values()) for (const file of files) file.holderCount++;
    if (this.#owners.size > 0) {
      for (const key of batch.keys()) {
        const before = this.#owners.get(key);
        if (before === undefined) continue;
        this.#owners.delete(key);
        for (const file of before) this.#blobs.release(file);
      }
    }
    for (const [key, files] of owners) this.#owners.set(key, files);
    for (const { file } of segments.values()) this.#blobs.release(file);
  }

  async *scan(
    from: string,
    to: string,
    options?: { readonly limit?: number; readonly keysOnly?: boolean },
  ): AsyncIterable<readonly [string, Uint8Array]> {
    const limit = options?.limit ?? -1;
    const release = this.#memory.holds.hold();
    const lt = to < ROWS_END ? to : ROWS_END;
    const iterator = this.#db.iterator({ gte: from, lt, limit, values: options?.keysOnly !== true, fillCache: false });
    try {
      for (;;) {
        const page = await iterator.nextv(limit > 0 ? Math.min(limit, SCAN_PAGE) : SCAN_PAGE);
        await this.#commits.pending();
        if (page.length === 0) return;
        if (this.#marker === undefined || options?.keysOnly === true) yield* page as readonly (readonly [string, Uint8Array])[];
        else for (const [key, value] of page) yield [key, await this.#reads.row(value as Uint8Array, this.#marker)];
      }
    } finally {
      release();
      await iterator.close();
    }
  }

  async *values(from: string, to: string, options?: { readonly firstParts?: boolean }): AsyncIterable<readonly Uint8Array[]> {
    const release = this.#memory.holds.hold();
    const iterator = this.#db.values({ gte: from, lt: to < ROWS_END ? to : ROWS_END, fillCache: false });
    try {
      for (;;) {
        const page = await iterator.nextv(SCAN_PAGE);
        await this.#commits.pending();
        if (page.length === 0) return;
        if (this.#marker === undefined) yield page;
        else yield* this.#reads.pages(page, this.#marker, options?.firstParts === true);
      }
    } finally {
      release();
      await iterator.close();
    }
  }

  async storedBytes(): Promise<number> {
    const [tables, own, commitLog] = await Promise.all([
      this.#db.approximateSize("", OWNERS_END),
      logBytesIn(this.#level.directory), // Recent writes are in the log and in no table yet.
      logBytesIn(logDirectory(this.#level.directory)),
    ]);
    return tables + own + commitLog + this.#memory.fileBytes;
  }

  async compact(): Promise<void> {
    // LevelDB chooses the levels to compact before a running flush has ended; the second pass includes those tables.
    await this.#commits.compact("", OWNERS_END);
    await this.#commits.compact("", OWNERS_END);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#level.onClose();
    await this.#blobs[Symbol.asyncDispose]();
    try {
      await this.#commits[Symbol.asyncDispose]();
    } finally {
      await this.#db.close();
      this.#level.onClosed();
    }
  }
}

function partsOf(row: RowBytes): readonly Uint8Array[] {
  return row instanceof Uint8Array ? [row] : row;
}

const NO_SEGMENTS: ReadonlyMap<Uint8Array, BlobSegment> = new Map();
