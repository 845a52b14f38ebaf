/** Why: what tenancy says is asked with every request and changes rarely: it is believed for a while, and looked up once at a time. */
import type { Clock } from "@perdure/base";

interface BriefEntry<V> {
  readonly value: V;
  readonly untilMs: number;
}

interface BriefLoad<V> {
  readonly promise: Promise<V>;
  /** News came meanwhile: the answer may be older, so it serves who asked and nobody else. */
  isOutdated: boolean;
}

export interface BriefCacheOptions<K, V> {
  readonly clock: Clock;
  readonly entriesMax: number;
  /** Loads at the same time; the next one is refused with what `overloaded` makes. */
  readonly loadsMax: number;
  readonly overloaded: () => Error;
  /** Of what does not exist: anybody can invent keys of that kind, which push out none of the others. */
  readonly isUnknown: (value: V) => boolean;
  /** How long a value is believed (ms). */
  readonly believedMs: (value: V) => number;
  readonly load: (key: K) => Promise<V>;
}

/** The oldest entry goes first when there are too many. */
export class BriefCache<K, V> {
  readonly #options: BriefCacheOptions<K, V>;
  readonly #entries = new Map<K, BriefEntry<V>>();
  readonly #unknown = new Map<K, BriefEntry<V>>();
  readonly #loads = new Map<K, BriefLoad<V>>();

  constructor(options: BriefCacheOptions<K, V>) {
    this.#options = options;
  }

  /** What is known, at once; undefined when it must be loaded. */
  peek(key: K): V | undefined {
    const entry = this.#entries.get(key) ?? this.#unknown.get(key);
    return entry !== undefined && entry.untilMs > this.#options.clock.monotonicMs() ? entry.value : undefined;
  }

  /** Rejects as `load` does, or overloaded. */
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
    const { clock, entriesMax, believedMs, isUnknown } = this.#options;
    this.#entries.delete(key);
    this.#unknown.delete(key);
    const entries = isUnknown(value) ? this.#unknown : this.#entries;
    if (entries.size >= entriesMax) entries.delete(entries.keys().next().value as K);
    entries.set(key, { value, untilMs: clock.monotonicMs() + believedMs(value) });
  }
}
