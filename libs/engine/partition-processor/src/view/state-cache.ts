/**
 * Caches the whole states of the objects used last, so that the next attempt on a key need not read the store. Holds durable values
 * only; an object whose state is being written is not served from here.
 */
import { CACHED_OBJECT_BYTES_MAX, CACHED_OBJECTS_MAX, CACHED_STATE_BYTES_MAX } from "../limits.js";

interface CachedState {
  readonly state: Map<string, Uint8Array>;
  bytes: number;
}

export class StateCache {
  /** State of objects in the order of use, oldest first. */
  readonly #objects = new Map<string, CachedState>();
  #bytes = 0;

  get(object: string): ReadonlyMap<string, Uint8Array> | undefined {
    const cached = this.#objects.get(object);
    if (cached === undefined) return undefined;
    this.#objects.delete(object);
    this.#objects.set(object, cached);
    return cached.state;
  }

  put(object: string, state: ReadonlyMap<string, Uint8Array>): void {
    this.drop(object);
    let bytes = object.length;
    for (const [key, value] of state) bytes += key.length + value.length;
    if (bytes > CACHED_OBJECT_BYTES_MAX) return;
    this.#objects.set(object, { state: new Map(state), bytes });
    this.#bytes += bytes;
    for (const oldest of this.#objects.keys()) {
      if (this.#objects.size <= CACHED_OBJECTS_MAX && this.#bytes <= CACHED_STATE_BYTES_MAX) break;
      this.drop(oldest);
    }
  }

  /** Applies a durable write; `undefined` deletes. A new key would not be in storage order, so the object is dropped and read again. */
  written(object: string, stateKey: string, value: Uint8Array | undefined): void {
    const cached = this.#objects.get(object);
    if (cached === undefined) return;
    const before = cached.state.get(stateKey);
    if (before === undefined && value !== undefined && cached.state.size > 0) return this.drop(object);
    const grown =
      (value === undefined ? 0 : stateKey.length + value.length) - (before === undefined ? 0 : stateKey.length + before.length);
    if (value === undefined) cached.state.delete(stateKey);
    else cached.state.set(stateKey, value);
    cached.bytes += grown;
    this.#bytes += grown;
    if (cached.bytes > CACHED_OBJECT_BYTES_MAX) this.drop(object);
  }

  drop(object: string): void {
    const cached = this.#objects.get(object);
    if (cached === undefined) return;
    this.#objects.delete(object);
    this.#bytes -= cached.bytes;
  }
}
