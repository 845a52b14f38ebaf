/** The whole durable states of objects that were used last, and which objects have writes that are not durable yet. */
import type { Mutation } from "@perdure/state-machine";
import { objectName } from "./row-names.js";
import { StateCache } from "./state-cache.js";

type StateWrite = Extract<Mutation, { kind: "putState" | "deleteState" }>;

export class WholeStates {
  readonly #cache = new StateCache();
  /** State writes of the batch being written. Made with the first one, for the reason given at `Overlay`. */
  #sealedWrites: StateWrite[] | undefined;
  /** Objects with state writes that are pending, and being written. */
  #writtenObjects: [Set<string>, Set<string>] = [new Set(), new Set()];
  /** Reads of whole states under way. */
  readonly #watches = new Map<string, Set<{ written: boolean }>>();

  /** Returns the whole durable state of a key if it is in memory, whether or not newer writes are pending. */
  stored(service: string, key: string): ReadonlyMap<string, Uint8Array> | undefined {
    return this.#cache.get(objectName(service, key));
  }

  /** Returns the whole durable state of a key if it is in memory and no newer write is pending. */
  current(service: string, key: string): ReadonlyMap<string, Uint8Array> | undefined {
    return this.#isBeingWritten(objectName(service, key)) ? undefined : this.stored(service, key);
  }

  /** Caches a whole state that was read from the store while no newer write was pending. */
  remember(service: string, key: string, state: ReadonlyMap<string, Uint8Array>): void {
    this.#cache.put(objectName(service, key), state);
  }

  /**
   * Call before a whole state is read from the store while commits continue. The result may be cached only if the object was not written
   * before the read ended: `finished` returns whether that is so, and ends the watch.
   */
  watch(service: string, key: string): { finished(): boolean } {
    const object = objectName(service, key);
    const watch = { written: this.#isBeingWritten(object) };
    const watches = this.#watches.get(object) ?? new Set();
    watches.add(watch);
    this.#watches.set(object, watches);
    return {
      finished: () => {
        watches.delete(watch);
        if (watches.size === 0) this.#watches.delete(object);
        return !watch.written;
      },
    };
  }

  /** A state key of the object is written with the next batch. */
  noteWrite(service: string, key: string): void {
    const object = objectName(service, key);
    this.#writtenObjects[0].add(object);
    if (this.#watches.size === 0) return;
    for (const watch of this.#watches.get(object) ?? []) watch.written = true;
  }

  /** The batch with these mutations is being written. */
  seal(mutations: readonly Mutation[]): void {
    for (const mutation of mutations) {
      if (mutation.kind !== "putState" && mutation.kind !== "deleteState") continue;
      this.#sealedWrites ??= [];
      this.#sealedWrites.push(mutation);
    }
    this.#writtenObjects = [this.#writtenObjects[1], this.#writtenObjects[0]];
  }

  /** The sealed batch is durable. */
  markDurable(): void {
    for (const write of this.#sealedWrites ?? []) {
      const value = write.kind === "putState" ? write.value : undefined;
      this.#cache.written(objectName(write.service, write.key), write.stateKey, value);
    }
    this.#sealedWrites = undefined;
    if (this.#writtenObjects[1].size > 0) this.#writtenObjects[1] = new Set();
  }

  #isBeingWritten(object: string): boolean {
    return this.#writtenObjects[0].has(object) || this.#writtenObjects[1].has(object);
  }
}
