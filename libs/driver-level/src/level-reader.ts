/**
 * Why: statements are run by another thread of the process, which reads the same database through a handle of its own: LevelDB
 * is safe for several threads, and one that reads never holds up the one that writes. A snapshot is what is committed at one
 * moment, whatever is written while it is read.
 */
import { PerdureError } from "@perdure/base";
import type { KeyValue } from "@perdure/store";
import { ClassicLevel } from "classic-level";
import { openFailure } from "./open-failure.js";

/** Bytes and rows fetched at a time: large steps, because a scan here reads very many rows and nobody waits behind it. */
const PAGE_BYTES = 256 * 1024;
const PAGE_ROWS = 2048;

type Database = ClassicLevel<string, Uint8Array>;
type Snapshot = ReturnType<Database["snapshot"]>;

export interface LevelReader extends AsyncDisposable {
  /** What is committed now. Disposing of it lets LevelDB forget what has changed since. */
  snapshot(): KeyValue;
}

/**
 * Opens a directory that this process has open already (`openLevelKeyValue`, with the very same path). Dispose of the reader
 * before the writer: they share the cache, which is the writer's. Rejects like `openLevelKeyValue`.
 */
export async function openLevelReader(directory: string): Promise<LevelReader> {
  const db: Database = new ClassicLevel<string, Uint8Array>(directory, { keyEncoding: "utf8", valueEncoding: "view" });
  try {
    await db.open({ multithreading: true, createIfMissing: false });
  } catch (cause) {
    throw openFailure(directory, cause);
  }
  return {
    snapshot: () => new LevelSnapshot(db),
    [Symbol.asyncDispose]: () => db.close(),
  };
}

class LevelSnapshot implements KeyValue {
  readonly #db: Database;
  readonly #snapshot: Snapshot;

  constructor(db: Database) {
    this.#db = db;
    this.#snapshot = db.snapshot();
  }

  get(key: string): Uint8Array | undefined {
    return this.#db.getSync(key, { snapshot: this.#snapshot });
  }

  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    return await this.#db.getMany([...keys], { snapshot: this.#snapshot, fillCache: false });
  }

  write(): Promise<void> {
    return Promise.reject(new PerdureError("STO0001", "a snapshot is only read"));
  }

  async *scan(
    from: string,
    to: string,
    options?: { readonly limit?: number; readonly keysOnly?: boolean },
  ): AsyncIterable<readonly [string, Uint8Array]> {
    const iterator = this.#db.iterator({
      gte: from,
      lt: to,
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
        yield* page as readonly (readonly [string, Uint8Array])[];
      }
    } finally {
      await iterator.close();
    }
  }

  /** The next page is fetched by another thread while the one at hand is read. */
  async *values(from: string, to: string): AsyncIterable<readonly Uint8Array[]> {
    const iterator = this.#db.values({
      gte: from,
      lt: to,
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
        yield page;
      }
    } finally {
      await next.catch(() => undefined); // The reader has left; what it would have read concerns nobody.
      await iterator.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#snapshot.close();
  }
}
