/**
 * Flushes the notifications that one turn of the partition gave to many attempts once at the end of the turn: one write per stream, one
 * microtask for all streams.
 */
export interface Flushable {
  flush(): void;
}

export class FlushGroup {
  #waiting: Flushable[] = [];

  add(flushable: Flushable): void {
    if (this.#waiting.push(flushable) === 1) queueMicrotask(this.#run);
  }

  readonly #run = (): void => {
    const batch = this.#waiting;
    this.#waiting = [];
    for (const flushable of batch) flushable.flush();
  };
}
