/**
 * Counts reads in progress, in all threads of the process, so that files are not removed while a read may need them. A read belongs to the
 * period in which it began. A file that is freed in period p is removed from period p + 2 on: period p + 1 cannot end before the reads of
 * period p have ended. Two counters suffice, because a period begins only when no read of the one before the last is left.
 */
const PERIOD = 0;
const COUNTS = 1;
/** Shared integers that the counters need. */
export const READ_HOLDS_INTEGERS = 3;

export class ReadHolds {
  readonly #shared: Int32Array;

  constructor(shared: Int32Array) {
    this.#shared = shared;
  }

  /** Begins a read; call the result once to end it. */
  hold(): () => void {
    for (;;) {
      const period = this.period;
      const slot = COUNTS + (period & 1);
      Atomics.add(this.#shared, slot, 1);
      if (this.period === period) {
        let isHeld = true;
        return () => {
          if (isHeld) Atomics.sub(this.#shared, slot, 1);
          isHeld = false;
        };
      }
      Atomics.sub(this.#shared, slot, 1);
    }
  }

  /** The current period. It wraps around. */
  get period(): number {
    return Atomics.load(this.#shared, PERIOD);
  }

  /** Whether every read has ended that began in this period or before. */
  haveEnded(period: number): boolean {
    return ((this.period - period) | 0) >= 2;
  }

  /** Begins the next period, unless reads of the previous one are in progress: false then. Any thread may call it at any time. */
  advance(): boolean {
    const period = this.period;
    if (Atomics.load(this.#shared, COUNTS + ((period + 1) & 1)) > 0) return false;
    // Another thread may have begun the next period since: the counter that was checked is that of new reads then.
    Atomics.compareExchange(this.#shared, PERIOD, period, (period + 1) | 0);
    return true;
  }
}
