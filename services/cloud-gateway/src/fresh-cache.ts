/**
 * Why: what tenancy says is asked for with every request and changes rarely. A value is believed for a while, looked up again
 * before that while is over so that nobody waits, asked for once however many want it, and kept for longer only while
 * tenancy cannot be reached (cloud.md §4.4). Hits are synchronous.
 */
import type { Clock } from "@perdure/base";
import { REFRESH_AFTER_MS, RETRY_MS } from "./limits.js";

export interface Freshness {
  /** How long it is believed; 0: not at all, it answers only who asked. */
  readonly ttlMs: number;
  /** How long it is believed in all while a new look-up fails; at least `ttlMs`. */
  readonly staleMs: number;
}

export interface FreshCacheOptions<V> {
  readonly clock: Clock;
  /** Entries; the one used longest ago goes first. */
  readonly entriesMax: number;
  /** Look-ups under way, background ones included; more reject with `overloaded`. */
  readonly loadsMax: number;
  readonly freshness: (value: V) => Freshness;
  readonly overloaded: () => Error;
}

interface FreshEntry<V> {
  value: V;
  freshUntilMs: number;
  refreshAtMs: number;
  readonly usableUntilMs: number;
  /** Of the cache when it was loaded: an older one must be looked up again. */
  generation: number;
}

interface FreshLoad<V> {
  readonly promise: Promise<V>;
  /** Set when news came meanwhile: the answer may be older than the news. */
  outdated: boolean;
}

export class FreshCache<K, V> {
  readonly #options: FreshCacheOptions<V>;
  /** In the order of use. */
  readonly #entries = new Map<K, FreshEntry<V>>();
  readonly #loads = new Map<K, FreshLoad<V>>();
  #generation = 0;
  /** For metrics. */
  hits = 0;
  misses = 0;
  staleHits = 0;

  constructor(options: FreshCacheOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The value when it is fresh, undefined otherwise. `load` is for the look-up ahead of time that nobody waits for. */
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

  /** It was good lately, though it must be looked up again. */
  remembers(key: K): boolean {
    return this.#entries.has(key);
  }

  /** After `fresh` had nothing. `load` is called at most once for a key at a time. Rejects as `load` does, or overloaded. */
  load(key: K, load: () => Promise<V>): Promise<V> {
    this.misses++;
    return this.#load(key, this.#entries.get(key), load);
  }

  /** It changed or is gone; what is being looked up for it now is not kept. */
  evict(key: K): void {
    this.#entries.delete(key);
    const load = this.#loads.get(key);
    if (load !== undefined) load.outdated = true;
  }

  /** Forgets all that match. What is being looked up is not kept, since it may be one of them. */
  evictWhere(matches: (value: V) => boolean): void {
    for (const [key, { value }] of this.#entries) if (matches(value)) this.#entries.delete(key);
    for (const load of this.#loads.values()) load.outdated = true;
  }

  /** Nothing is fresh any more; it still serves while look-ups fail. */
  outdateAll(): void {
    this.#generation++;
    for (const load of this.#loads.values()) load.outdated = true;
  }

  #refresh(key: K, entry: FreshEntry<V>, nowMs: number, load: () => Promise<V>): void {
    if (this.#loads.size >= this.#options.loadsMax || this.#loads.has(key)) return;
    entry.refreshAtMs = nowMs + RETRY_MS;
    this.#start(key, load).promise.catch(() => undefined); // Whoever needs it once it is no longer fresh hears why it failed.
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
      // Forgotten meanwhile, or too old: it must not serve any more.
      if (entry === undefined || this.#entries.get(key) !== entry || nowMs >= entry.usableUntilMs) throw cause;
      entry.generation = this.#generation;
      entry.freshUntilMs = Math.min(nowMs + RETRY_MS, entry.usableUntilMs); // Until then nobody asks again.
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
