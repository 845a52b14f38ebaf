/**
 * The one cache for answers of another process, which many requests need and which change rarely. Concurrent requests for a key share one
 * load. A value may be loaded again shortly before it expires, so that no request waits, and may be used for longer while loads fail.
 * Hits are synchronous.
 */
import { BoundedCache } from "./bounded-cache.js";
import type { Clock } from "./clock.js";
import { LOAD_RETRY_MS } from "./limits.js";
import { type Random, systemRandom } from "./random.js";

/** Lifetimes of a loaded value, in milliseconds from the end of the load. */
export interface CacheLifetime {
  /** The value is returned without a load; 0: only the callers that wait for the load get it. */
  readonly ttlMs: number;
  /** Age from which a use of the value loads it again in the background; absent: never. */
  readonly refreshAfterMs?: number;
  /** The value is used for so long in all while loads fail, at least `ttlMs`. Absent: `ttlMs`. */
  readonly staleMs?: number;
  /**
   * The value says that the key does not exist. Clients can invent any number of such keys, so these values are kept apart and evict no
   * others; they are neither refreshed nor used while loads fail.
   */
  readonly isNegative?: boolean;
}

export interface LoadingCacheOptions<V> {
  readonly clock: Clock;
  /** Bound of the values; the least recently used one is evicted first. */
  readonly entriesMax: number;
  /** Bound of the negative values. Absent: none is kept. */
  readonly negativeEntriesMax?: number;
  /** Bound of concurrent loads, background ones included; more are rejected with the error from `overloaded`. */
  readonly loadsMax: number;
  readonly overloaded: () => Error;
  readonly lifetimeOf: (value: V) => CacheLifetime;
  /** Largest part (0 to 1) by which the times of a value are shortened at random: values that were loaded together expire apart. */
  readonly jitter?: number;
  readonly random?: Random;
}

interface LoadedValue<V> {
  readonly value: V;
  freshUntilMs: number;
  refreshAtMs: number;
  readonly usableUntilMs: number;
  /** Generation of the cache when the value was loaded: a value of an earlier generation must be loaded again. */
  generation: number;
}

interface RunningLoad<V> {
  readonly promise: Promise<V>;
  /** The key changed during this load: the value serves the callers that wait for it and is not kept. */
  isOutdated: boolean;
}

type Load<V> = () => Promise<V>;

/** Values are never `undefined`, which means that the cache has no value. */
export class LoadingCache<K, V> {
  readonly #options: LoadingCacheOptions<V>;
  readonly #random: Random;
  readonly #values: BoundedCache<K, LoadedValue<V>>;
  readonly #negative: BoundedCache<K, V>;
  readonly #loads = new Map<K, RunningLoad<V>>();
  #generation = 0;
  /** Uses of fresh values, negative ones excluded. */
  hits = 0;
  /** Calls that needed a load, or waited for a running one. */
  misses = 0;
  /** Uses of values beyond their time to live, because a load failed. */
  staleHits = 0;

  constructor(options: LoadingCacheOptions<V>) {
    this.#options = options;
    this.#random = options.random ?? systemRandom;
    this.#values = new BoundedCache({ entriesMax: options.entriesMax });
    const expiry = { clock: options.clock, ttlMs: 0 };
    this.#negative = new BoundedCache({ entriesMax: options.negativeEntriesMax ?? 1, expiry });
  }

  /** Values, negative ones excluded. */
  get size(): number {
    return this.#values.size;
  }

  /** The cached value, or else the promise of `load`, which is called at most once for a key at a time. Rejects as `load` does. */
  get(key: K, load: Load<V>): V | Promise<V> {
    return this.fresh(key, load) ?? this.load(key, load);
  }

  /** The value when it is fresh, undefined otherwise. `load` is called when the value is due to be refreshed in the background. */
  fresh(key: K, load: Load<V>): V | undefined {
    const entry = this.#values.get(key);
    if (entry === undefined) return this.#negative.get(key);
    const nowMs = this.#options.clock.monotonicMs();
    if (entry.generation !== this.#generation || nowMs >= entry.freshUntilMs) return undefined;
    this.hits++;
    if (nowMs >= entry.refreshAtMs) this.#refresh(key, entry, nowMs, load);
    return entry.value;
  }

  /** Whether there is a value of the key, even one that must be loaded again; false for negative values. */
  has(key: K): boolean {
    return this.#values.has(key);
  }

  /** Called after `fresh` returned undefined. Rejects as `load` does, or with the error from `overloaded`. */
  async load(key: K, load: Load<V>): Promise<V> {
    this.misses++;
    const entry = this.#values.peek(key);
    const { clock, loadsMax, overloaded } = this.#options;
    try {
      const running = this.#loads.get(key);
      if (running !== undefined && !running.isOutdated) return await running.promise;
      if (this.#loads.size >= loadsMax) throw overloaded();
      return await this.#start(key, load);
    } catch (cause) {
      const nowMs = clock.monotonicMs();
      // The value was evicted meanwhile or is too old to be used.
      if (entry === undefined || this.#values.peek(key) !== entry || nowMs >= entry.usableUntilMs) throw cause;
      entry.generation = this.#generation;
      entry.freshUntilMs = Math.min(nowMs + LOAD_RETRY_MS, entry.usableUntilMs); // No new load until then.
      this.staleHits++;
      return entry.value;
    }
  }

  /** Removes the value because it changed; the result of a running load is not kept. */
  evict(key: K): void {
    this.#values.delete(key);
    this.#negative.delete(key);
    const load = this.#loads.get(key);
    if (load !== undefined) load.isOutdated = true;
  }

  /** Removes all values that match and all negative ones. The results of running loads are not kept, since they may match too. */
  evictWhere(matches: (value: V) => boolean): void {
    this.#values.deleteWhere((_key, { value }) => matches(value));
    this.#negative.clear();
    this.#outdateLoads();
  }

  /** Removes all values; the results of running loads are not kept. */
  clear(): void {
    this.#values.clear();
    this.#negative.clear();
    this.#outdateLoads();
  }

  /** Makes all values outdated, but keeps them for the case that loads fail; removes the negative ones. */
  outdateAll(): void {
    this.#generation++;
    this.#negative.clear();
    this.#outdateLoads();
  }

  #outdateLoads(): void {
    for (const load of this.#loads.values()) load.isOutdated = true;
  }

  #refresh(key: K, entry: LoadedValue<V>, nowMs: number, load: Load<V>): void {
    if (this.#loads.size >= this.#options.loadsMax || this.#loads.has(key)) return;
    entry.refreshAtMs = nowMs + LOAD_RETRY_MS;
    this.#start(key, load).catch(() => undefined); // A later caller that needs the value receives the error.
  }

  #start(key: K, load: Load<V>): Promise<V> {
    const running: RunningLoad<V> = { promise: load(), isOutdated: false };
    this.#loads.set(key, running);
    const removeLoad = (): void => {
      if (this.#loads.get(key) === running) this.#loads.delete(key);
    };
    running.promise.then((value) => {
      removeLoad();
      if (!running.isOutdated) this.#keep(key, value);
    }, removeLoad);
    return running.promise;
  }

  #keep(key: K, value: V): void {
    const { clock, lifetimeOf, jitter = 0, negativeEntriesMax = 0 } = this.#options;
    const { ttlMs, refreshAfterMs = ttlMs, staleMs = ttlMs, isNegative = false } = lifetimeOf(value);
    this.#values.delete(key);
    this.#negative.delete(key);
    if (ttlMs <= 0) return;
    const factor = jitter === 0 ? 1 : 1 - jitter * this.#random.float();
    if (isNegative) {
      if (negativeEntriesMax > 0) this.#negative.set(key, value, ttlMs * factor);
      return;
    }
    const nowMs = clock.monotonicMs();
    this.#values.set(key, {
      value,
      freshUntilMs: nowMs + ttlMs * factor,
      refreshAtMs: nowMs + Math.min(refreshAfterMs, ttlMs) * factor,
      usableUntilMs: nowMs + staleMs,
      generation: this.#generation,
    });
  }
}
