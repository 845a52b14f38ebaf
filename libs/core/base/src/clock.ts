/** The port for time: tests and simulations pass their own clock. The system's clock is one implementation. */
import { TIMER_STEP_MS_MAX } from "./limits.js";

export interface TimerHandle {
  /** Stops the timer. Has no effect after it fired or was cancelled. */
  cancel(): void;
}

export interface Clock {
  /** Wall time, whole milliseconds since 1970; may jump when the machine's clock is set. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start, with fractions; never goes back. For measuring and for deadlines of leases. */
  monotonicMs(): number;
  /** Calls `fire` once after at least `delayMs` (any finite number; below zero counts as zero). The process does not exit until then. */
  setTimer(delayMs: number, fire: () => void): TimerHandle;
}

/** The machine's clock. Delays beyond the maximum of Node's timers (24.8 days) pass in steps. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (delayMs, fire) => new SystemTimer(delayMs, fire),
};

class SystemTimer implements TimerHandle {
  #remainingMs: number;
  readonly #fire: () => void;
  #timeout: NodeJS.Timeout;

  constructor(delayMs: number, fire: () => void) {
    this.#remainingMs = Math.max(0, delayMs);
    this.#fire = fire;
    this.#timeout = this.#wait();
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  #wait(): NodeJS.Timeout {
    const step = Math.min(this.#remainingMs, TIMER_STEP_MS_MAX);
    this.#remainingMs -= step;
    return setTimeout(() => {
      if (this.#remainingMs > 0) this.#timeout = this.#wait();
      else this.#fire();
    }, step);
  }
}
