/**
 * Flushes the notifications that one turn of the partition gave to many attempts once at the end of the turn: one write per stream, one
 * microtask for all streams.
 */
export interface Flushable {
  flush(): void;
}

export class FlushGroup {
  /** Made with its first item: a list that waits empty reaches the old generation, and would keep attempts until a full collection. */
  #waiting: Flushable[] | undefined;

  add(flushable: Flushable): void {
    this.#waiting ??= [];
    if (this.#waiting.push(flushable) === 1) queueMicrotask(this.#run);
  }

  readonly #run = (): void => {
    const batch = this.#waiting;
    this.#waiting = undefined;
    for (const flushable of batch ?? []) flushable.flush();
  };
}
