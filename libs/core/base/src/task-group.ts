/**
 * Tasks that run beside the main flow. No promise floats: the group reports a failure at once, stops its tasks through one signal, and on
 * disposal waits until all have ended.
 */

/** Named tasks that end together. Closing aborts the signal that all of them received, then waits for them. */
export class TaskGroup implements AsyncDisposable {
  readonly #running = new Set<Promise<void>>();
  readonly #controller = new AbortController();
  readonly #onFailure: (cause: unknown, task: string) => void;

  /** `onFailure` is called for every task that rejects, except with the group's own abort reason after closing began. It must not throw. */
  constructor(onFailure: (cause: unknown, task: string) => void) {
    this.#onFailure = onFailure;
  }

  /** Aborted when the group closes. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Tasks that have not ended. */
  get size(): number {
    return this.#running.size;
  }

  /** Starts a task now. After closing began the call does nothing. */
  run(name: string, task: (signal: AbortSignal) => Promise<void>): void {
    const signal = this.#controller.signal;
    if (signal.aborted) return;
    const running = this.#guard(name, task, signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.abort();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #guard(name: string, task: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await task(signal);
    } catch (cause) {
      if (!isOurAbort(cause, signal)) this.#onFailure(cause, name);
    }
  }
}

function isOurAbort(cause: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (cause === signal.reason || (cause instanceof Error && cause.name === "AbortError"));
}
