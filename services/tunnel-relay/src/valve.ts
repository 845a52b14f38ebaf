/** Pauses a stream while the other side is full or its environment must be slower; resumes it when neither holds. */
import type { Clock, TimerHandle } from "@perdure/base";

/** Something that can be read, or not for a while. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

export class Valve {
  readonly #stream: Pausable;
  readonly #clock: Clock;
  #isFull = false;
  #pace: TimerHandle | undefined;

  constructor(stream: Pausable, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
  }

  /** Call it after forwarding bytes: `takesMore` is the result of the write, `waitMs` how long to wait in any case. */
  passed(takesMore: boolean, waitMs: number): void {
    if (!takesMore) this.#isFull = true;
    if (waitMs > 0 && this.#pace === undefined) {
      this.#pace = this.#clock.setTimer(waitMs, () => {
        this.#pace = undefined;
        this.#flow();
      });
    }
    if (this.#isFull || this.#pace !== undefined) this.#stream.pause();
  }

  /** Call it when the other side accepts more. */
  drained(): void {
    this.#isFull = false;
    this.#flow();
  }

  /** Cancels the wait; the stream is not resumed. */
  close(): void {
    this.#pace?.cancel();
    this.#pace = undefined;
  }

  #flow(): void {
    if (!this.#isFull && this.#pace === undefined) this.#stream.resume();
  }
}
