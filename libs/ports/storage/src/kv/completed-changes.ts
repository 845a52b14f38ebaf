/**
 * Records which rows of completed invocations change, so that a reader that keeps copies of them reads only those again. A position is a
 * place in the record. Writes that have not ended are reported with every request, because a snapshot may or may not have them:
 *
 *     position p ▸ snapshot ▸ since(the position before)        the rows of the snapshot are then those of position p, or newer
 *
 * Every write that ended before p is in the snapshot, and every write that the snapshot has began before `since` was called.
 */
import type { KeyValue, RowBytes } from "./key-value.js";
import { isCompletedKey } from "./keys.js";

/** Changes that are kept, some 3 MB: reading more rows than this one by one costs more than reading all of 100,000 in their order. */
const CHANGES_KEPT_MAX = 32_768;

export class CompletedChanges {
  readonly #keptMax: number;
  #isRecording = false;
  /** Keys of ended writes, in the order in which the writes ended. */
  #ended: string[] = [];
  /** Position of the first of `#ended`. */
  #first = 0;
  /** Keys of the writes that have not ended. */
  readonly #open = new Set<readonly string[]>();
  /** Writes that have not ended and began before the recording. */
  #unrecordedCount = 0;
  /** Position of the last request. */
  #lastRequested = 0;

  constructor(keptMax = CHANGES_KEPT_MAX) {
    this.#keptMax = keptMax;
  }

  /** Starts the recording, which costs nothing before. Undefined while writes that began before it have not ended. */
  position(): number | undefined {
    this.#isRecording = true;
    this.#lastRequested = this.#first + this.#ended.length;
    return this.#unrecordedCount > 0 ? undefined : this.#lastRequested;
  }

  /** Keys that may have changed since a position, some of them repeatedly. Undefined when they are not kept any more. */
  since(position: number): readonly string[] | undefined {
    if (!this.#isRecording || position < this.#first) return undefined;
    return [...this.#ended.slice(position - this.#first), ...[...this.#open].flat()];
  }

  /** The same engine; what is written through it is recorded. */
  recorded(kv: KeyValue): KeyValue {
    return {
      staging: kv.staging,
      get: (key) => kv.get(key),
      getMany: (keys, options) => kv.getMany(keys, options),
      scan: (from, to, options) => kv.scan(from, to, options),
      values: (from, to, options) => kv.values(from, to, options),
      write: (batch) => this.#write(kv, batch),
      [Symbol.asyncDispose]: () => kv[Symbol.asyncDispose](),
    };
  }

  async #write(kv: KeyValue, batch: ReadonlyMap<string, RowBytes | null>): Promise<void> {
    const end = this.#begin(batch.keys());
    try {
      await kv.write(batch);
    } finally {
      end(); // A write that failed may have been stored all the same.
    }
  }

  #begin(keys: Iterable<string>): () => void {
    if (!this.#isRecording) {
      this.#unrecordedCount++;
      return () => {
        this.#unrecordedCount--;
      };
    }
    const changed: string[] = [];
    for (const key of keys) if (isCompletedKey(key)) changed.push(key);
    this.#open.add(changed);
    return () => {
      this.#open.delete(changed);
      this.#end(changed);
    };
  }

  #end(changed: readonly string[]): void {
    if (!this.#isRecording) return;
    for (const key of changed) this.#ended.push(key);
    const end = this.#first + this.#ended.length;
    if (end - this.#lastRequested > this.#keptMax) {
      // No statement came for so long that the next one has to read everything anyway.
      this.#isRecording = false;
      this.#first = end;
      this.#ended = [];
    } else if (this.#ended.length > 2 * this.#keptMax) {
      this.#first = end - this.#keptMax;
      this.#ended = this.#ended.slice(-this.#keptMax);
    }
  }
}
