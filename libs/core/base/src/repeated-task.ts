/** Work that a process does again and again: each run begins a while after the last one ended, so runs never overlap. */
import type { Clock, TimerHandle } from "./clock.js";
import { PerdureError } from "./errors/perdure-error.js";
import type { Logger } from "./logger.js";

interface RepeatedTaskOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Milliseconds between the end of a run and the begin of the next. */
  readonly pauseMs: number;
  /** `signal` aborts when the task is disposed of. A run that rejects is logged, and the next one follows as after any other. */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
  /** The log message, a warning, when a run rejects: `usage could not be read; retrying`. */
  readonly failed: string;
}

/** Begins the first run at once. Disposing waits for the current run. */
export class RepeatedTask implements AsyncDisposable {
  readonly #options: RepeatedTaskOptions;
  readonly #stop = new AbortController();
  #timer: TimerHandle | undefined;
  #running: Promise<void>;

  constructor(options: RepeatedTaskOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Resolves when the run that is in progress, or was the last one, has ended; never rejects. */
  get running(): Promise<void> {
    return this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, pauseMs, run, failed } = this.#options;
    try {
      await run(this.#stop.signal);
    } catch (cause) {
      const { code, detail } = PerdureError.from(cause);
      logger.warn({ code, reason: detail }, failed);
    }
    if (this.#stop.signal.aborted) return;
    this.#timer = clock.setTimer(pauseMs, () => {
      this.#running = this.#run();
    });
  }
}
