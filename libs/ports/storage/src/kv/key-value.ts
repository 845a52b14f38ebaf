/**
 * The operations that a partition store needs of an ordered key-value engine. Keys are strings of chars 0–255, ordered by char, so that
 * UTF-8 engines and JavaScript agree on the order.
 */
import { concatBytes, present } from "@perdure/base";

export interface KeyValue extends AsyncDisposable {
  /** Writes large bytes of rows before the batch that stores the rows; undefined: they can be written only with it. */
  readonly staging?: Staging | undefined;
  get(key: string): Uint8Array | undefined;
  /** `firstParts` as for `values`. */
  getMany(keys: readonly string[], options?: { readonly firstParts?: boolean }): Promise<readonly (Uint8Array | undefined)[]>;
  /**
   * Atomic and durable when it resolves. A null value deletes. Bytes must not change before that. Writes that are not awaited may become
   * durable in any order.
   */
  write(batch: ReadonlyMap<string, RowBytes | null>): Promise<void>;
  /** Yields pairs with from ≤ key < to, ascending, as of the moment of the call. */
  scan(
    from: string,
    to: string,
    options?: { readonly limit?: number; readonly keysOnly?: boolean },
  ): AsyncIterable<readonly [string, Uint8Array]>;
  /**
   * Like `scan`, without keys and many at a time: for callers that read very many rows. With `firstParts`, an engine that
   * keeps later parts of a row elsewhere may leave them unread and yield the first one for the row.
   */
  values(from: string, to: string, options?: { readonly firstParts?: boolean }): AsyncIterable<readonly Uint8Array[]>;
}

/** One row: its bytes, or its parts in order. Parts avoid copies of large values; an engine may store them separately. */
export type RowBytes = Uint8Array | readonly Uint8Array[];

/** Returns the row in one piece; a copy when it has several parts. */
export function rowOf(row: RowBytes): Uint8Array {
  if (row instanceof Uint8Array) return row;
  return row.length === 1 ? present(row[0]) : concatBytes(...row);
}

export interface Staging {
  /** Bytes from which staging is worth a separate write. */
  readonly bytesMin: number;
  /**
   * Writes the bytes, durable when it resolves, without blocking commits. Rows of later writes that contain these bytes, or a subarray
   * of them, as a part refer to the staged copy. Until the result is disposed, the bytes must not change; afterwards they are kept only
   * while rows refer to them. Rejects with the error of the medium; rows with the bytes can be written all the same.
   */
  stage(bytes: Uint8Array): Promise<Disposable>;
}

/** Number of keys of a batch beyond which sorting all keys is cheaper than inserting each in its place. */
const KEPT_IN_ORDER_KEYS_MAX = 256;

/** Keeps rows in memory, for tests and simulation, as the same bytes that an engine would store. */
export class MemoryKeyValue implements KeyValue {
  readonly #rows = new Map<string, Uint8Array>();
  /** The keys in order, created by the first scan; small batches keep them in order. */
  #sorted: string[] | undefined;

  get(key: string): Uint8Array | undefined {
    return this.#rows.get(key);
  }

  getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    return Promise.resolve(keys.map((key) => this.#rows.get(key)));
  }

  write(batch: ReadonlyMap<string, RowBytes | null>): Promise<void> {
    if (batch.size > KEPT_IN_ORDER_KEYS_MAX) this.#sorted = undefined;
    for (const [key, row] of batch) {
      const value = row === null ? null : rowOf(row);
      if (value === null) {
        if (this.#rows.delete(key)) this.#sorted?.splice(lowerBound(this.#sorted, key), 1);
      } else {
        if (this.#sorted !== undefined && !this.#rows.has(key)) this.#sorted.splice(lowerBound(this.#sorted, key), 0, key);
        this.#rows.set(key, value);
      }
    }
    return Promise.resolve();
  }

  async *scan(from: string, to: string, options?: { readonly limit?: number }): AsyncIterable<readonly [string, Uint8Array]> {
    this.#sorted ??= [...this.#rows.keys()].sort();
    const sorted = this.#sorted;
    const result: (readonly [string, Uint8Array])[] = [];
    const limit = options?.limit ?? Number.POSITIVE_INFINITY;
    for (let i = lowerBound(sorted, from); i < sorted.length && result.length < limit; i++) {
      const key = present(sorted[i]);
      if (key >= to) break;
      result.push([key, present(this.#rows.get(key))]);
    }
    yield* result;
  }

  async *values(from: string, to: string): AsyncIterable<readonly Uint8Array[]> {
    const page: Uint8Array[] = [];
    for await (const [, value] of this.scan(from, to)) page.push(value);
    if (page.length > 0) yield page;
  }

  /** Returns all rows, for checkers. */
  snapshot(): ReadonlyMap<string, Uint8Array> {
    return this.#rows;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (present(sorted[middle]) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
