/**
 * The one map with a bound: least recently used entries are evicted first, so no client can fill the memory by using many keys. Values
 * may also expire, and may have weights (bytes, for example) whose sum is bounded.
 */
import type { Clock } from "./clock.js";

interface CacheExpiry {
  readonly clock: Clock;
  /** Milliseconds for which a value is returned after it was set; `set` may pass another time for one value. */
  readonly ttlMs: number;
}

interface CacheWeight<V> {
  /** Weight of a value, zero or more; called once for each `set`. */
  readonly of: (value: V) => number;
  /** Bound of the sum of all weights. A value that is heavier than this is not kept. */
  readonly max: number;
}

interface BoundedCacheOptions<V> {
  /** Bound of the number of entries, at least 1. */
  readonly entriesMax: number;
  /** Absent: values do not expire. */
  readonly expiry?: CacheExpiry;
  /** Absent: only the number of entries is bounded. */
  readonly weight?: CacheWeight<V>;
}

/** Values are never `undefined`, which means that the cache has no value. */
export class BoundedCache<K, V> {
  readonly #entriesMax: number;
  readonly #expiry: CacheExpiry | undefined;
  readonly #weight: CacheWeight<V> | undefined;
  /** Values in the order of their use, least recently used first. */
  readonly #values = new Map<K, V>();
  /** Monotonic time at which each value expires; empty when values do not expire. */
  readonly #expiresAtMs = new Map<K, number>();
  /** Weight of each value; empty when values have no weight. */
  readonly #weights = new Map<K, number>();
  #weightSum = 0;

  constructor({ entriesMax, expiry, weight }: BoundedCacheOptions<V>) {
    this.#entriesMax = entriesMax;
    this.#expiry = expiry;
    this.#weight = weight;
  }

  /** Entries, including expired ones that were not requested since. */
  get size(): number {
    return this.#values.size;
  }

  /** Sum of the weights of all entries. */
  get weight(): number {
    return this.#weightSum;
  }

  /** Returns the value and makes it the most recently used one. */
  get(key: K): V | undefined {
    const value = this.peek(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** Returns the value without counting it as used: one look-up, for hot paths. A cache that is only peeked into evicts its oldest value. */
  peek(key: K): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined || this.#expiry === undefined) return value;
    if ((this.#expiresAtMs.get(key) ?? 0) > this.#expiry.clock.monotonicMs()) return value;
    this.delete(key);
    return undefined;
  }

  has(key: K): boolean {
    return this.peek(key) !== undefined;
  }

  /** Returns the value, most recently used from now on; when there is none, the result of `make`, which is kept. */
  getOrCreate(key: K, make: () => V): V {
    const existing = this.get(key);
    if (existing !== undefined) return existing;
    const value = make();
    this.set(key, value);
    return value;
  }

  /** Sets the value as the most recently used one, and evicts others until the bounds hold. `ttlMs`: of this value. */
  set(key: K, value: V, ttlMs = this.#expiry?.ttlMs): void {
    this.delete(key);
    const weight = this.#weight?.of(value) ?? 0;
    const weightMax = this.#weight?.max ?? 0;
    if (weight > weightMax) return;
    for (const leastRecentlyUsed of this.#values.keys()) {
      if (this.#values.size < this.#entriesMax && this.#weightSum + weight <= weightMax) break;
      this.delete(leastRecentlyUsed);
    }
    if (weight > 0) this.#weights.set(key, weight);
    this.#weightSum += weight;
    this.#values.set(key, value);
    if (this.#expiry !== undefined) this.#expiresAtMs.set(key, this.#expiry.clock.monotonicMs() + (ttlMs ?? 0));
  }

  /** Whether there was an entry. */
  delete(key: K): boolean {
    if (!this.#values.delete(key)) return false;
    this.#expiresAtMs.delete(key);
    this.#weightSum -= this.#weights.get(key) ?? 0;
    this.#weights.delete(key);
    return true;
  }

  deleteWhere(matches: (key: K, value: V) => boolean): void {
    for (const [key, value] of this.#values) if (matches(key, value)) this.delete(key);
  }

  clear(): void {
    this.#values.clear();
    this.#expiresAtMs.clear();
    this.#weights.clear();
    this.#weightSum = 0;
  }

  /** All entries, least recently used first, including expired ones that were not requested since. */
  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#values.entries();
  }
}
