/**
 * LevelDB as the engine under partition stores. One synced batch per commit; point reads are synchronous, because a
 * miss answered by the bloom filter or a hit in the memtable costs less than a trip through the thread pool.
 */
import { PerdureError } from "@perdure/base";
import type { KeyValue } from "@perdure/store";
import { ClassicLevel } from "classic-level";
import { openFailure, writeFailure } from "./open-failure.js";

/** Memtable: two of them are in memory and bound what is replayed at start; 4 MiB hold some thousand invocations. */
const WRITE_BUFFER_BYTES = 4 * 1024 * 1024;
/** Blocks of cold data kept unpacked; hot data is in the memtable anyway. */
const BLOCK_CACHE_BYTES = 8 * 1024 * 1024;
/** Rows fetched from an iterator at a time. */
const SCAN_PAGE = 256;

type Database = ClassicLevel<string, Uint8Array>;

/** Directories whose writer this process has: LevelDB would let several threads open one, and two writers know nothing of each other. */
const written = new Set<string>();

/**
 * Opens or creates the database, which other threads of this process may then read (`openLevelReader`). Rejects with RT0005 when
 * another process holds it or this one writes it already, STO0001/STO0003 otherwise.
 */
export async function openLevelKeyValue(directory: string): Promise<KeyValue> {
  if (written.has(directory)) throw new PerdureError("RT0005", `the storage directory ${directory} is open already`);
  written.add(directory);
  try {
    return new LevelKeyValue(await open(directory), () => written.delete(directory));
  } catch (cause) {
    written.delete(directory);
    throw cause;
  }
}

async function open(directory: string): Promise<Database> {
  const db: Database = new ClassicLevel<string, Uint8Array>(directory, { keyEncoding: "utf8", valueEncoding: "view" });
  try {
    await db.open({ writeBufferSize: WRITE_BUFFER_BYTES, cacheSize: BLOCK_CACHE_BYTES, compression: true, multithreading: true });
  } catch (cause) {
    throw openFailure(directory, cause);
  }
  return db;
}

class LevelKeyValue implements KeyValue {
  readonly #db: Database;
  readonly #onClose: () => void;

  constructor(db: Database, onClose: () => void) {
    this.#db = db;
    this.#onClose = onClose;
  }

  get(key: string): Uint8Array | undefined {
    return this.#db.getSync(key);
  }

  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    return await this.#db.getMany([...keys]);
  }

  async write(batch: ReadonlyMap<string, Uint8Array | null>): Promise<void> {
    try {
      const chained = this.#db.batch();
      for (const [key, value] of batch) {
        if (value === null) chained.del(key);
        else chained.put(key, value);
      }
      await chained.write(SYNCED);
    } catch (cause) {
      throw writeFailure(batch.size, cause);
    }
  }

  async *scan(
    from: string,
    to: string,
    options?: { readonly limit?: number; readonly keysOnly?: boolean },
  ): AsyncIterable<readonly [string, Uint8Array]> {
    const limit = options?.limit ?? -1;
    const iterator = this.#db.iterator({ gte: from, lt: to, limit, values: options?.keysOnly !== true, fillCache: false });
    try {
      for (;;) {
        const page = await iterator.nextv(limit > 0 ? Math.min(limit, SCAN_PAGE) : SCAN_PAGE);
        if (page.length === 0) return;
        yield* page as readonly (readonly [string, Uint8Array])[];
      }
    } finally {
      await iterator.close();
    }
  }

  async *values(from: string, to: string): AsyncIterable<readonly Uint8Array[]> {
    const iterator = this.#db.values({ gte: from, lt: to, fillCache: false });
    try {
      for (;;) {
        const page = await iterator.nextv(SCAN_PAGE);
        if (page.length === 0) return;
        yield page;
      }
    } finally {
      await iterator.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#db.close();
    this.#onClose();
  }
}

const SYNCED = { sync: true } as const;
