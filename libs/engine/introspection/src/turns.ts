/** Limits concurrency: few statements run at a time, some wait in order, and the rest are refused at once. */
export class Turns {
  #free: number;
  readonly #waitingMax: number;
  /** Callbacks of the waiting callers, the longest waiting first. */
  readonly #waiting = new Set<() => void>();

  constructor(runningMax: number, waitingMax: number) {
    this.#free = runningMax;
    this.#waitingMax = waitingMax;
  }

  /**
   * Resolves with true at the turn of the caller, which must then call `end` once; with false when too many wait. Rejects with the
   * signal's reason when it is aborted before.
   */
  async begin(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return true;
    }
    if (this.#waiting.size >= this.#waitingMax) return false;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    const leave = () => {
      if (this.#waiting.delete(resolve)) reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
    return true;
  }

  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
