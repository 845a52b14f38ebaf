/**
 * A cache for answers of tenancy, which every request needs and which change rarely. A value is fresh for a while, and is looked up again
 * before that ends, so that no request waits. Concurrent requests for a key share one look-up. A value is used beyond its time only while
 * tenancy cannot be reached (cloud.md §4.4). Hits are synchronous.
 */
import type { Clock } from "@perdure/base";
import { REFRESH_AFTER_MS, RETRY_MS } from "./limits.js";

export interface Freshness {
  /** How long the value is fresh; 0: it is returned to the current callers and not kept. */
  readonly ttlMs: number;
  /** How long the value is used in all while new look-ups fail; at least `ttlMs`. */
  readonly staleMs: number;
}

export interface FreshCacheOptions<V> {
  readonly clock: Clock;
  /** Bound of the entries; the least recently used one is evicted first. */
  readonly entriesMax: number;
  /** Bound of concurrent look-ups, background ones included; more reject with `overloaded`. */
  readonly loadsMax: number;
  readonly freshness: (value: V) => Freshness;
  readonly overloaded: () => Error;
}

interface FreshEntry<V> {
  value: V;
  freshUntilMs: number;
  refreshAtMs: number;
  readonly usableUntilMs: number;
  /** Generation of the cache when the value was loaded: an older value must be looked up again. */
  generation: number;
}

interface FreshLoad<V> {
  readonly promise: Promise<V>;
  /** Set when a change event arrived during the look-up: the answer may be older than the change. */
  outdated: boolean;
}

export class FreshCache<K, V> {
  readonly #options: FreshCacheOptions<V>;
  /** In order of use, least recently used first. */
  readonly #entries = new Map<K, FreshEntry<V>>();
  readonly #loads = new Map<K, FreshLoad<V>>();
  #generation = 0;
  /** Counted for metrics. */
  hits = 0;
  misses = 0;
  staleHits = 0;

  constructor(options: FreshCacheOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value when it is fresh, undefined otherwise. `load` is used to refresh the value in the background. */
  fresh(key: K, load: () => Promise<V>): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const nowMs = this.#options.clock.monotonicMs();
    if (entry.generation !== this.#generation || nowMs >= entry.freshUntilMs) return undefined;
    this.hits++;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (nowMs >= entry.refreshAtMs) this.#refresh(key, entry, nowMs, load);
    return entry.value;
  }

  /** Whether the key has a usable value, even one that must be looked up again. */
  remembers(key: K): boolean {
    return this.#entries.has(key);
  }

  /**
   * Called after `fresh` returned undefined. Calls `load` at most once for a key at a time. Rejects as `load` does, or with `overloaded`.
   */
  load(key: K, load: () => Promise<V>): Promise<V> {
    this.misses++;
    return this.#load(key, this.#entries.get(key), load);
  }

  /** Removes the entry because it changed; the result of a running look-up for it is not kept. */
  evict(key: K): void {
    this.#entries.delete(key);
    const load = this.#loads.get(key);
    if (load !== undefined) load.outdated = true;
  }

  /** Removes all values that match. The results of running look-ups are not kept, since they may match too. */
  evictWhere(matches: (value: V) => boolean): void {
    for (const [key, { value }] of this.#entries) if (matches(value)) this.#entries.delete(key);
    for (const load of this.#loads.values()) load.outdated = true;
  }

  /** Makes all values outdated; they are still used while look-ups fail. */
  outdateAll(): void {
    this.#generation++;
    for (const load of this.#loads.values()) load.outdated = true;
  }

  #refresh(key: K, entry: FreshEntry<V>, nowMs: number, load: () => Promise<V>): void {
    if (this.#loads.size >= this.#options.loadsMax || this.#loads.has(key)) return;
    entry.refreshAtMs = nowMs + RETRY_MS;
    this.#start(key, load).promise.catch(() => undefined); // A later caller that needs the value receives the error.
  }

  async #load(key: K, entry: FreshEntry<V> | undefined, load: () => Promise<V>): Promise<V> {
    const { clock, loadsMax, overloaded } = this.#options;
    try {
      const running = this.#loads.get(key);
      if (running !== undefined && !running.outdated) return await running.promise;
      if (this.#loads.size >= loadsMax) throw overloaded();
      return await this.#start(key, load).promise;
    } catch (cause) {
      const nowMs = clock.monotonicMs();
      // The value was evicted meanwhile or is too old to be used.
      if (entry === undefined || this.#entries.get(key) !== entry || nowMs >= entry.usableUntilMs) throw cause;
      entry.generation = this.#generation;
      entry.freshUntilMs = Math.min(nowMs + RETRY_MS, entry.usableUntilMs); // No new look-up until then.
      this.staleHits++;
      return entry.value;
    }
  }

  #start(key: K, load: () => Promise<V>): FreshLoad<V> {
    const running: FreshLoad<V> = { promise: load(), outdated: false };
    this.#loads.set(key, running);
    const removeLoad = (): void => {
      if (this.#loads.get(key) === running) this.#loads.delete(key);
    };
    running.promise.then((value) => {
      removeLoad();
      if (!running.outdated) this.#keep(key, value);
    }, removeLoad);
    return running;
  }

  #keep(key: K, value: V): void {
    const { clock, entriesMax, freshness } = this.#options;
    const { ttlMs, staleMs } = freshness(value);
    this.#entries.delete(key);
    if (ttlMs <= 0) return;
    const nowMs = clock.monotonicMs();
    if (this.#entries.size >= entriesMax) this.#entries.delete(this.#entries.keys().next().value as K);
    this.#entries.set(key, {
      value,
      freshUntilMs: nowMs + ttlMs,
      refreshAtMs: nowMs + Math.min(REFRESH_AFTER_MS, ttlMs),
      usableUntilMs: nowMs + staleMs,
      generation: this.#generation,
    });
  }
}
