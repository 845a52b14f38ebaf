/**
 * Counts reads in progress, in the writer's thread and in others of the process, so that files are not removed while a read may need them.
 * A read belongs to the current period. Free files wait until their period is over and its reads have ended: two counters suffice, because
 * a period begins only when no read of the one before the last is left.
 */
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { DURABLE_BATCHES_INTEGERS, DurableBatches } from "./commit-log/durable-batches.js";

const PERIOD = 0;
const COUNTS = 1;
const DURABLE_BATCHES = 3;
const SHARED_BYTES = (DURABLE_BATCHES + DURABLE_BATCHES_INTEGERS) * Int32Array.BYTES_PER_ELEMENT;

const nameOf = (directory: string): string => `perdure level reads ${directory}`;

export class ReadHolds {
  readonly #shared: Int32Array;
  /** Counters of the writer's batches. */
  readonly durable: DurableBatches;

  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(SHARED_BYTES)) {
    this.#shared = new Int32Array(shared);
    this.durable = new DurableBatches(this.#shared.subarray(DURABLE_BATCHES));
  }

  /** Call it in the writer of a directory: threads that are started afterwards get the counters with `of`. */
  static publish(directory: string): ReadHolds {
    const shared = new SharedArrayBuffer(SHARED_BYTES);
    setEnvironmentData(nameOf(directory), shared);
    return new ReadHolds(shared);
  }

  static withdraw(directory: string): void {
    setEnvironmentData(nameOf(directory), undefined as never);
  }

  static of(directory: string): ReadHolds {
    const shared = getEnvironmentData(nameOf(directory));
    return new ReadHolds(shared instanceof SharedArrayBuffer ? shared : undefined);
  }

  /** Begins a read; call the result once to end it. */
  hold(): () => void {
    for (;;) {
      const period = Atomics.load(this.#shared, PERIOD);
      const slot = COUNTS + (period & 1);
      Atomics.add(this.#shared, slot, 1);
      if (Atomics.load(this.#shared, PERIOD) === period) {
        let isHeld = true;
        return () => {
          if (isHeld) Atomics.sub(this.#shared, slot, 1);
          isHeld = false;
        };
      }
      Atomics.sub(this.#shared, slot, 1);
    }
  }

  /** Whether reads of the previous period are still in progress. */
  get arePastReadsUnderWay(): boolean {
    return Atomics.load(this.#shared, COUNTS + ((Atomics.load(this.#shared, PERIOD) + 1) & 1)) > 0;
  }

  /** Begins the next period. Allowed only while no past reads are in progress. */
  nextPeriod(): void {
    Atomics.add(this.#shared, PERIOD, 1);
  }
}
