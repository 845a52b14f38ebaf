/** Why: few statements run at a time, some wait in order, and the rest hear so at once. */
export class Turns {
  #free: number;
  readonly #waitingMax: number;
  /** How those who wait are told to begin, the longest waiting first. */
  readonly #waiting = new Set<() => void>();

  constructor(runningMax: number, waitingMax: number) {
    this.#free = runningMax;
    this.#waitingMax = waitingMax;
  }

  /**
   * Resolves with true when it is the caller's turn, who must then call `end` once; with false when too many wait. Rejects with
   * the signal's reason when it is aborted before.
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
