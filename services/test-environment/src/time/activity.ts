/** Counts what happens in an environment, so that observers can find out that nothing happens any more. */
export class EngineActivity {
  #count = 0;
  #waiting: (() => void)[] = [];
  /** Requests that clients of this process have sent and the server has not received. */
  readonly requests = new Set<string>();

  get count(): number {
    return this.#count;
  }

  bump(): void {
    this.#count++;
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Resolves at the next activity. */
  next(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }
}
