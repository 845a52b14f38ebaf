/**
 * Streams whose last word is said and whose end is awaited. They all may take equally long, so one timer for the oldest serves them
 * all: most end at once, and a timer for each would cost more than the rest of the farewell.
 */
import type { Clock, TimerHandle } from "@perdure/base";
import { DRAIN_MS } from "./limits.js";

export interface Draining {
  /** The time is over. */
  drainedTooLong(): void;
}

export class DrainList {
  readonly #clock: Clock;
  /** With their deadlines, oldest first. */
  readonly #waiting = new Map<Draining, number>();
  #timer: TimerHandle | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(draining: Draining): void {
    this.#waiting.set(draining, this.#clock.monotonicMs() + DRAIN_MS);
    this.#timer ??= this.#clock.setTimer(DRAIN_MS, this.#timeIsUp);
  }

  delete(draining: Draining): void {
    if (this.#waiting.delete(draining) && this.#waiting.size === 0) {
      this.#timer?.cancel();
      this.#timer = undefined;
    }
  }

  readonly #timeIsUp = (): void => {
    this.#timer = undefined;
    const now = this.#clock.monotonicMs();
    for (const [draining, deadlineMs] of this.#waiting) {
      if (deadlineMs > now) {
        this.#timer = this.#clock.setTimer(deadlineMs - now, this.#timeIsUp);
        return;
      }
      this.#waiting.delete(draining);
      draining.drainedTooLong();
    }
  };
}
