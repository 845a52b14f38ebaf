/**
 * Counts batches that LevelDB may show before they are durable, for threads that read it: what they return must not be lost by a crash of
 * the next moment. One batch is under way at a time, so two counters suffice.
 */
import { threadId } from "node:worker_threads";
import { PerdureError } from "@perdure/base";
import { DURABLE_WAIT_MS_MAX } from "./limits.js";

const BEGUN = 0;
const DURABLE = 1;
const WRITER = 2;
/** Shared integers that the counters need. */
export const DURABLE_BATCHES_INTEGERS = 3;

export class DurableBatches {
  readonly #shared: Int32Array;

  constructor(shared: Int32Array) {
    this.#shared = shared;
  }

  /** Call both in the thread that writes. */
  begin(): void {
    this.#shared[WRITER] = threadId;
    Atomics.add(this.#shared, BEGUN, 1);
  }

  end(): void {
    Atomics.add(this.#shared, DURABLE, 1);
    Atomics.notify(this.#shared, DURABLE);
  }

  /** Number of the latest batch that a snapshot may contain, if it was taken before the call. */
  get begun(): number {
    return Atomics.load(this.#shared, BEGUN);
  }

  /** Resolves when the batch with this number is durable; undefined when it is already. Rejects with STO0001 when that takes too long. */
  until(begun: number): Promise<void> | undefined {
    return isReached(this.#durable, begun) ? undefined : this.#wait(begun);
  }

  /** Like `until`, but blocks. Returns at once in the thread that writes, which could not end the batch meanwhile. */
  blockUntil(begun: number): void {
    if (this.#shared[WRITER] === threadId) return;
    for (let durable = this.#durable; !isReached(durable, begun); durable = this.#durable) {
      if (Atomics.wait(this.#shared, DURABLE, durable, DURABLE_WAIT_MS_MAX) === "timed-out") throw overdue();
    }
  }

  get #durable(): number {
    return Atomics.load(this.#shared, DURABLE);
  }

  async #wait(begun: number): Promise<void> {
    for (let durable = this.#durable; !isReached(durable, begun); durable = this.#durable) {
      const { value } = Atomics.waitAsync(this.#shared, DURABLE, durable, DURABLE_WAIT_MS_MAX);
      if ((await value) === "timed-out") throw overdue();
    }
  }
}

/** The counters wrap around: only their distance counts. */
function isReached(durable: number, begun: number): boolean {
  return ((durable - begun) | 0) >= 0;
}

function overdue(): PerdureError {
  return new PerdureError("STO0001", "the latest batch did not become durable in time");
}
