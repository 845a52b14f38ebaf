/** Why: each leader has a wall clock of its own, which may be wrong and may jump, and timers that die with it. */
import type { Clock, TimerHandle } from "@perdure/base";
import type { Scheduler } from "./scheduler.js";

/** How far a leader's clock may be off: wall clocks of one cluster are never this bad, which is the point. */
const SKEW_MS_MAX = 90_000;

export class LeaderClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #alive: () => boolean;
  #skewMs = 0;

  constructor(scheduler: Scheduler, alive: () => boolean) {
    this.#scheduler = scheduler;
    this.#alive = alive;
  }

  nowMs(): number {
    return this.#scheduler.clock.nowMs() + this.#skewMs;
  }

  monotonicMs(): number {
    return this.#scheduler.clock.monotonicMs();
  }

  setTimer(delayMs: number, fire: () => void): TimerHandle {
    return this.#scheduler.after(delayMs, () => {
      if (this.#alive()) fire();
    });
  }

  /** Sets the wall clock to a time anywhere within the bound; zero sets it right. */
  jump(): number {
    const { random } = this.#scheduler;
    this.#skewMs = random.chance(0.3) ? 0 : Math.trunc((random.float() * 2 - 1) * SKEW_MS_MAX);
    return this.#skewMs;
  }
}
