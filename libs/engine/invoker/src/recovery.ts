/**
 * Conditions after a failed attempt before the next one: its stream is drained, the delay has passed since, and all commands it submitted
 * are durable (service-protocol §6.2, §6.4). Otherwise an entry could be appended behind the replay.
 */
import type { Clock, TimerHandle } from "@perdure/base";

export interface RecoveryDeps {
  readonly clock: Clock;
  whenDurable(callback: () => void): void;
  /** Called once, unless cancelled. */
  recovered(): void;
}

export class Recovery {
  readonly #deps: RecoveryDeps;
  #delayMs: number;
  #isDurable = false;
  #drained = false;
  #waited = false;
  #over = false;
  #timer: TimerHandle | undefined;
  #nextAttemptAtMs: number | undefined;

  constructor(delayMs: number, deps: RecoveryDeps) {
    this.#delayMs = delayMs;
    this.#deps = deps;
    deps.whenDurable(() => {
      this.#isDurable = true;
      this.#check();
    });
  }

  /** Undefined until the delay has begun. */
  get nextAttemptAtMs(): number | undefined {
    return this.#nextAttemptAtMs;
  }

  /** The stream is closed: the delay begins. */
  drained(): void {
    if (this.#drained || this.#over) return;
    this.#drained = true;
    const { clock } = this.#deps;
    this.#nextAttemptAtMs = Math.ceil(clock.nowMs() + this.#delayMs);
    this.#timer = clock.setTimer(this.#delayMs, () => this.#delayPassed());
  }

  /** Begins the next attempt without any further delay. */
  hurry(): void {
    this.#delayMs = 0;
    this.#timer?.cancel();
    if (this.#drained && !this.#waited) this.#delayPassed();
  }

  cancel(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  #delayPassed(): void {
    this.#waited = true;
    this.#check();
  }

  #check(): void {
    if (this.#over || !this.#isDurable || !this.#waited) return;
    this.#over = true;
    this.#deps.recovered();
  }
}
