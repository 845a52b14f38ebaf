/**
 * A cache for answers of tenancy, which each request needs and which change rarely. A value is valid for a short time; each key is loaded
 * once at a time.
 */
import type { Clock } from "@perdure/base";

interface BriefEntry<V> {
  readonly value: V;
  readonly untilMs: number;
}

interface BriefLoad<V> {
  readonly promise: Promise<V>;
  /** The key was evicted during this load: the result serves the callers that wait for it and is not cached. */
  isOutdated: boolean;
}

export interface BriefCacheOptions<K, V> {
  readonly clock: Clock;
  readonly entriesMax: number;
  /** Loads in progress at the same time; `get` rejects with the error from `overloaded` when there are more. */
  readonly loadsMax: number;
  readonly overloaded: () => Error;
  /**
   * Whether the value means that the key does not exist. Clients can invent such keys, so they are cached apart and evict no other entry.
   */
  readonly isUnknown: (value: V) => boolean;
  /** How long a value is valid (ms). */
  readonly validMs: (value: V) => number;
  readonly load: (key: K) => Promise<V>;
}

/** A full cache evicts its oldest entry. */
export class BriefCache<K, V> {
  readonly #options: BriefCacheOptions<K, V>;
  readonly #entries = new Map<K, BriefEntry<V>>();
  readonly #unknown = new Map<K, BriefEntry<V>>();
  readonly #loads = new Map<K, BriefLoad<V>>();

  constructor(options: BriefCacheOptions<K, V>) {
    this.#options = options;
  }

  /** The cached value; undefined when it must be loaded. */
  peek(key: K): V | undefined {
    const entry = this.#entries.get(key) ?? this.#unknown.get(key);
    return entry !== undefined && entry.untilMs > this.#options.clock.monotonicMs() ? entry.value : undefined;
  }

  /** Rejects as `load` does, or with the error from `overloaded`. */
  get(key: K): Promise<V> {
    const cached = this.peek(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const running = this.#loads.get(key);
    if (running !== undefined && !running.isOutdated) return running.promise;
    const { load: start, loadsMax, overloaded } = this.#options;
    if (this.#loads.size >= loadsMax) return Promise.reject(overloaded());
    const promise = start(key);
    const load: BriefLoad<V> = { promise, isOutdated: false };
    this.#loads.set(key, load);
    const removeLoad = (): void => {
      if (this.#loads.get(key) === load) this.#loads.delete(key);
    };
    promise.then((value) => {
      removeLoad();
      if (!load.isOutdated) this.#keep(key, value);
    }, removeLoad);
    return promise;
  }

  evict(key: K): void {
    this.#entries.delete(key);
    this.#unknown.delete(key);
    const load = this.#loads.get(key);
    if (load !== undefined) load.isOutdated = true;
  }

  evictAll(): void {
    this.#entries.clear();
    this.#unknown.clear();
    for (const load of this.#loads.values()) load.isOutdated = true;
  }

  #keep(key: K, value: V): void {
    const { clock, entriesMax, validMs, isUnknown } = this.#options;
    this.#entries.delete(key);
    this.#unknown.delete(key);
    const entries = isUnknown(value) ? this.#unknown : this.#entries;
    if (entries.size >= entriesMax) entries.delete(entries.keys().next().value as K);
    entries.set(key, { value, untilMs: clock.monotonicMs() + validMs(value) });
  }
}
