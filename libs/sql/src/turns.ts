/** Why: few statements run at a time, some wait in order, and the rest hear so at once. */
import { Ring } from "@perdure/base";

interface Waiting {
  isGone: boolean;
  begin(): void;
}

export class Turns {
  #free: number;
  readonly #waitingMax: number;
  readonly #queue = new Ring<Waiting>();

  constructor(runningMax: number, waitingMax: number) {
    this.#free = runningMax;
    this.#waitingMax = waitingMax;
  }

  /** Resolves with true when it is the caller's turn, who must then call `end` once; with false when too many wait. Rejects when aborted. */
  async begin(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return true;
    }
    if (this.#queue.length >= this.#waitingMax) return false;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { isGone: false, begin: resolve };
    this.#queue.push(waiting);
    const leave = () => {
      waiting.isGone = true;
      reject(signal.reason);
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
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (!next.isGone) return next.begin();
    }
    this.#free++;
  }
}
