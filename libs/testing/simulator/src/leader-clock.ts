/** A wall clock of one leader, which may be wrong and may jump, and timers that end with it. */
import type { Clock, TimerHandle } from "@perdure/base";
import type { Scheduler } from "./scheduler.js";

/** Maximum error of a leader's clock, much worse than in any real cluster. */
const SKEW_MS_MAX = 90_000;

/** Can be cancelled until it has reached its process, which may be stopped when the timer is due. */
class LeaderTimer implements TimerHandle {
  readonly #handle: TimerHandle;
  #fire: (() => void) | undefined;

  constructor(scheduler: Scheduler, delayMs: number, enter: (fire: () => void) => void, fire: () => void) {
    this.#fire = fire;
    this.#handle = scheduler.after(delayMs, () => enter(() => this.#fire?.()));
  }

  cancel(): void {
    this.#fire = undefined;
    this.#handle.cancel();
  }
}

export class LeaderClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #enter: (fire: () => void) => void;
  #skewMs = 0;

  /** Timers reach their process through `enter`. */
  constructor(scheduler: Scheduler, enter: (fire: () => void) => void) {
    this.#scheduler = scheduler;
    this.#enter = enter;
  }

  nowMs(): number {
    return this.#scheduler.clock.nowMs() + this.#skewMs;
  }

  monotonicMs(): number {
    return this.#scheduler.clock.monotonicMs();
  }

  setTimer(delayMs: number, fire: () => void): TimerHandle {
    return new LeaderTimer(this.#scheduler, delayMs, this.#enter, fire);
  }

  /** Sets the wall clock to a time anywhere within the bound; zero sets it right. */
  jump(): number {
    const { random } = this.#scheduler;
    this.#skewMs = random.chance(0.3) ? 0 : Math.trunc((random.float() * 2 - 1) * SKEW_MS_MAX);
    return this.#skewMs;
  }
}
