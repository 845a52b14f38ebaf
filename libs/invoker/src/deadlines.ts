/**
 * Timers for very many things that mostly do not last until they fire: attempts and their farewells. All that wait equally long stand in
 * one line behind one real timer, so that joining and leaving is a map operation; a timer each would cost several times as much.
 */
import { type Clock, invariant, type TimerHandle } from "@perdure/base";

export interface Waiting {
  /** The time is over; it waits no longer. */
  deadlineReached(): void;
}

export class Deadlines {
  readonly #clock: Clock;
  /** By delay. There are as many as different delays in use, which are settings of handlers. */
  readonly #lines = new Map<number, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits `delayMs`; nothing may wait twice for the same delay at a time. */
  add(waiting: Waiting, delayMs: number): void {
    let line = this.#lines.get(delayMs);
    if (line === undefined) {
      line = new Line(this.#clock, delayMs);
      this.#lines.set(delayMs, line);
    }
    line.add(waiting);
  }

  delete(waiting: Waiting, delayMs: number): void {
    const line = this.#lines.get(delayMs);
    if (line?.delete(waiting)) this.#lines.delete(delayMs);
  }
}

class Line {
  readonly #clock: Clock;
  readonly #delayMs: number;
  /** With their deadlines, earliest first. */
  readonly #waiting = new Map<Waiting, number>();
  #timer: TimerHandle | undefined;
  #firing = false;

  constructor(clock: Clock, delayMs: number) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  add(waiting: Waiting): void {
    invariant(!this.#waiting.has(waiting), "nothing waits twice in one line");
    this.#waiting.set(waiting, this.#clock.monotonicMs() + this.#delayMs);
    if (!this.#firing) this.#timer ??= this.#clock.setTimer(this.#delayMs, this.#timeIsUp);
  }

  /** True when nothing is left in the line. */
  delete(waiting: Waiting): boolean {
    this.#waiting.delete(waiting);
    if (this.#waiting.size > 0) return false;
    this.#timer?.cancel();
    this.#timer = undefined;
    return true;
  }

  readonly #timeIsUp = (): void => {
    this.#timer = undefined;
    this.#firing = true;
    const now = this.#clock.monotonicMs();
    let nextMs: number | undefined;
    for (const [waiting, deadlineMs] of this.#waiting) {
      if (deadlineMs > now) {
        nextMs = deadlineMs;
        break;
      }
      this.#waiting.delete(waiting);
      waiting.deadlineReached();
    }
    this.#firing = false;
    if (nextMs !== undefined) this.#timer = this.#clock.setTimer(nextMs - now, this.#timeIsUp);
  };
}
