/**
 * Reads the database from another thread of the process, which runs SQL statements. The thread has a handle of its own: LevelDB is
 * thread-safe, and a reader never blocks the writers. A snapshot has the data that all writers committed until one moment.
 */
import { PerdureError } from "@perdure/base";
import type { KeyValue } from "@perdure/storage";
import { ClassicLevel } from "classic-level";
import type { BinaryLevel } from "./binary-level.js";
import { BlobReads } from "./blob-reads.js";
import type { DurableBatches } from "./commit-log/durable-batches.js";
import { DatabaseMemory } from "./database-memory.js";
import { openFailure } from "./open-failure.js";
import { MARKER_KEY, ROWS_END } from "./stored-value.js";

/** Bytes and rows fetched at a time: large, because scans here read many rows and no other task waits for them. */
const PAGE_BYTES = 256 * 1024;
const PAGE_ROWS = 2048;

type DatabaseSnapshot = ReturnType<BinaryLevel["snapshot"]>;

interface LevelReader extends AsyncDisposable {
  /** The data committed now. Disposing of the snapshot lets LevelDB compact versions that have changed since. */
  snapshot(): KeyValue;
}

/**
 * Opens a directory that this process has open already (`openLevelKeyValue`, with exactly the same path). Dispose of the reader before the
 * writer, whose cache it shares. Rejects like `openLevelKeyValue`.
 */
export async function openLevelReader(directory: string): Promise<LevelReader> {
  const db: BinaryLevel = new ClassicLevel<string, Uint8Array>(directory, { keyEncoding: "utf8", valueEncoding: "view" });
  try {
    await db.open({ multithreading: true, createIfMissing: false });
  } catch (cause) {
    throw openFailure(directory, cause);
  }
  const { holds, durable } = DatabaseMemory.of(directory) ?? DatabaseMemory.create(1);
  const reads = new BlobReads(directory);
  return {
    snapshot: () => new LevelSnapshot(db, reads, holds.hold(), durable),
    [Symbol.asyncDispose]: () => db.close(),
  };
}

class LevelSnapshot implements KeyValue {
  readonly #db: BinaryLevel;
  readonly #reads: BlobReads;
  /** Ends the hold on files that the snapshot may need. */
  readonly #release: () => void;
  readonly #snapshot: DatabaseSnapshot;
  readonly #marker: Uint8Array | undefined;
  readonly #durable: DurableBatches;
  /** The snapshot may contain this batch, which must be durable before its rows are returned. */
  readonly #begun: number;

  constructor(db: BinaryLevel, reads: BlobReads, release: () => void, durable: DurableBatches) {
    this.#db = db;
    this.#reads = reads;
    this.#release = release;
    using acquired = new DisposableStack();
    acquired.defer(release); // Otherwise files would never be removed again.
    const snapshot = db.snapshot();
    acquired.defer(() => void snapshot.close());
    this.#snapshot = snapshot;
    this.#durable = durable;
    this.#begun = durable.begun;
    this.#marker = db.getSync(MARKER_KEY, { snapshot });
    acquired.move();
  }

  get(key: string): Uint8Array | undefined {
    this.#durable.blockUntil(this.#begun);
    const value = this.#db.getSync(key, { snapshot: this.#snapshot });
    return value === undefined ? undefined : this.#reads.rowSync(value, this.#marker);
  }

  /** Reads in this thread, for which only statements wait: an exchange with a thread of the pool costs more than reading a few rows. */
  async getMany(
    keys: readonly string[],
    options?: { readonly firstParts?: boolean },
  ): Promise<readonly (Uint8Array | undefined)[]> {
    await this.#durable.until(this.#begun);
    const rows: (Uint8Array | undefined)[] = [];
    for (const key of keys) {
      const value = this.#db.getSync(key, { snapshot: this.#snapshot, fillCache: false });
      const row = value === undefined ? undefined : this.#reads.row(value, this.#marker, options?.firstParts === true);
      rows.push(row instanceof Promise ? await row : row);
    }
    return rows;
  }

  write(): Promise<void> {
    return Promise.reject(new PerdureError("STO0001", "a snapshot is only read"));
  }

  async *scan(
    from: string,
    to: string,
    options?: { readonly limit?: number; readonly keysOnly?: boolean },
  ): AsyncIterable<readonly [string, Uint8Array]> {
    await this.#durable.until(this.#begun);
    const iterator = this.#db.iterator({
      gte: from,
      lt: to < ROWS_END ? to : ROWS_END,
      limit: options?.limit ?? -1,
      values: options?.keysOnly !== true,
      fillCache: false,
      highWaterMarkBytes: PAGE_BYTES,
      snapshot: this.#snapshot,
    });
    try {
      for (;;) {
        const page = await iterator.nextv(PAGE_ROWS);
        if (page.length === 0) return;
        if (this.#marker === undefined || options?.keysOnly === true) yield* page as readonly (readonly [string, Uint8Array])[];
        else for (const [key, value] of page) yield [key, await this.#reads.row(value as Uint8Array, this.#marker)];
      }
    } finally {
      await iterator.close();
    }
  }

  /** Another thread fetches the next page while the current one is consumed. */
  async *values(from: string, to: string, options?: { readonly firstParts?: boolean }): AsyncIterable<readonly Uint8Array[]> {
    await this.#durable.until(this.#begun);
    const iterator = this.#db.values({
      gte: from,
      lt: to < ROWS_END ? to : ROWS_END,
      fillCache: false,
      highWaterMarkBytes: PAGE_BYTES,
      snapshot: this.#snapshot,
    });
    let next = iterator.nextv(PAGE_ROWS);
    try {
      for (;;) {
        const page = await next;
        if (page.length === 0) return;
        next = iterator.nextv(PAGE_ROWS);
        if (this.#marker === undefined) yield page;
        else yield* this.#reads.pages(page, this.#marker, options?.firstParts === true);
      }
    } finally {
      await next.catch(() => undefined); // The consumer stopped, so an error of the next page is ignored.
      await iterator.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#release();
    return this.#snapshot.close();
  }
}
