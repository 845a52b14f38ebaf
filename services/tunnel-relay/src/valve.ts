/** Why: a stream is held for two reasons, that the other side is full and that its environment must go slowly; it flows when neither holds. */
import type { Readable } from "node:stream";
import type { Clock, TimerHandle } from "@perdure/base";

export class Valve {
  readonly #stream: Readable;
  readonly #clock: Clock;
  #isFull = false;
  #pace: TimerHandle | undefined;

  constructor(stream: Readable, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
  }

  /** After bytes were passed on: whether the other side takes more now, and how long (ms) to wait whatever it says. */
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

  /** The other side takes more. */
  drained(): void {
    this.#isFull = false;
    this.#flow();
  }

  /** Nobody listens any more: it runs dry. */
  close(): void {
    this.#pace?.cancel();
    this.#pace = undefined;
  }

  #flow(): void {
    if (!this.#isFull && this.#pace === undefined) this.#stream.resume();
  }
}
