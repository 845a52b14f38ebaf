/**
 * LevelDB as the engine under partition stores. One synced batch per commit; point reads are synchronous, because a
 * miss answered by the bloom filter or a hit in the memtable costs less than a trip through the thread pool.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { PerdureError } from "@perdure/base";
import type { KeyValue } from "@perdure/store";
import { ClassicLevel } from "classic-level";
import { openFailure, writeFailure } from "./open-failure.js";

/** Memtable: two of them are in memory and bound what is replayed at start; 4 MiB hold some thousand invocations. */
const WRITE_BUFFER_BYTES = 4 * 1024 * 1024;
/** Blocks of cold data kept unpacked; hot data is in the memtable anyway. */
const BLOCK_CACHE_BYTES = 8 * 1024 * 1024;
/**
 * Values are copied into native memory on the event loop, 30 MB in 50 to 100 ms. The event loop serves
 * others before each value that would make it more than this in one piece.
 */
const COPIED_BYTES_MAX = 4 * 1024 * 1024;
/** Rows fetched from an iterator at a time. */
const SCAN_PAGE = 256;

type Database = ClassicLevel<string, Uint8Array>;

/** An engine that knows how much it holds. */
export interface LevelStore extends KeyValue {
  /** Bytes on disk, roughly: what was deleted counts until it is compacted. Reads no data, so it may be asked often. */
  storedBytes(): Promise<number>;
  /** Batches written since it was opened: while it stays the same, so does what is stored. */
  readonly batches: number;
  /** Gives back the room of what was deleted. Takes a while with much data, in a thread of its own. */
  compact(): Promise<void>;
}

/** Directories whose writer this process has: LevelDB would let several threads open one, and two writers know nothing of each other. */
const written = new Set<string>();

/**
 * Opens or creates the database, which other threads of this process may then read (`openLevelReader`). Rejects with RT0005 when
 * another process holds it or this one writes it already, STO0001/STO0003 otherwise.
 */
export async function openLevelKeyValue(directory: string): Promise<LevelStore> {
  if (written.has(directory)) throw new PerdureError("RT0005", `the storage directory ${directory} is open already`);
  written.add(directory);
  try {
    return new LevelKeyValue(await open(directory), directory, () => written.delete(directory));
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

class LevelKeyValue implements LevelStore {
  readonly #db: Database;
  readonly #directory: string;
  readonly #onClose: () => void;
  #batches = 0;

  constructor(db: Database, directory: string, onClose: () => void) {
    this.#db = db;
    this.#directory = directory;
    this.#onClose = onClose;
  }

  get batches(): number {
    return this.#batches;
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
      let bytes = 0;
      for (const [key, value] of batch) {
        const moreBytes = value?.length ?? 0;
        if (bytes + moreBytes > COPIED_BYTES_MAX) {
          await setImmediate();
          bytes = 0;
        }
        bytes += moreBytes;
        if (value === null) chained.del(key);
        else chained.put(key, value);
      }
      await chained.write(SYNCED);
      this.#batches++;
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

  async storedBytes(): Promise<number> {
    const [tables, names] = await Promise.all([this.#db.approximateSize("", END), readdir(this.#directory)]);
    // What was written last is in the log, and in no table yet.
    const logs = await Promise.all(
      names.filter((name) => name.endsWith(".log")).map((name) => sizeOf(join(this.#directory, name))),
    );
    return logs.reduce((sum, bytes) => sum + bytes, tables);
  }

  compact(): Promise<void> {
    return this.#db.compactRange("", END);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#db.close();
    this.#onClose();
  }
}

/** Beyond all keys, whose chars are 0–255. */
const END = "\u0100";

/** 0 when it is gone: LevelDB begins a new log whenever it likes. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw cause;
  }
}

const SYNCED = { sync: true } as const;
