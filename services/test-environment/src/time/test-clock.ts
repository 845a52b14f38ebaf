/**
 * The clock of an environment: timers, schedules, back-off, retention and limits read it, so that a test moves all of them together. Times
 * are whole milliseconds. While it flows it also passes as the machine's clock does; else it stands still until it is moved.
 */
import { clearTimeout, setTimeout } from "node:timers";
import { type Clock, systemClock, type TimerHandle } from "@perdure/base";
import { REAL_TIMER_MS_MAX } from "../limits.js";

interface ArmedTimer extends TimerHandle {
  readonly dueMs: number;
  readonly fire: () => void;
}

export class TestClock implements Clock {
  readonly #startMs: number;
  #atMs: number;
  /** The machine's monotonic time at `#atMs`; undefined while the clock stands still. */
  #flowsSinceMs: number | undefined;
  /** By due time; timers due together in the order in which they were set. */
  readonly #timers: ArmedTimer[] = [];
  #wake: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(startMs: number, flows: boolean) {
    this.#startMs = startMs;
    this.#atMs = startMs;
    this.#flowsSinceMs = flows ? systemClock.monotonicMs() : undefined;
  }

  get flows(): boolean {
    return this.#flowsSinceMs !== undefined;
  }

  /** Due time of the next timer; undefined without one. */
  get nextDueMs(): number | undefined {
    return this.#timers[0]?.dueMs;
  }

  nowMs(): number {
    if (this.#flowsSinceMs === undefined) return this.#atMs;
    return this.#atMs + Math.floor(systemClock.monotonicMs() - this.#flowsSinceMs);
  }

  monotonicMs(): number {
    return this.nowMs() - this.#startMs;
  }

  setTimer(delayMs: number, fire: () => void): TimerHandle {
    if (Number.isNaN(delayMs)) throw new RangeError("a delay must be a number");
    const dueMs = this.nowMs() + Math.ceil(Math.max(0, delayMs));
    const timer: ArmedTimer = { dueMs, fire, cancel: () => this.#cancel(timer) };
    this.#timers.splice(this.#indexAfter(dueMs), 0, timer);
    this.#arm();
    return timer;
  }

  /** Moves to `toMs` and fires what is due, each timer at that time. Has no effect when the time has passed already. */
  moveTo(toMs: number): void {
    if (toMs > this.nowMs()) {
      this.#atMs = toMs;
      if (this.#flowsSinceMs !== undefined) this.#flowsSinceMs = systemClock.monotonicMs();
    }
    this.#fireDue();
  }

  /** No timer fires any more. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#wake);
  }

  /** Timers that these timers set and that are due at once fire in a later call, so that two timers cannot keep each other going. */
  #fireDue(): void {
    if (this.#isStopped) return;
    const due = this.#timers.splice(0, this.#indexAfter(this.nowMs()));
    for (const timer of due) this.#isCancelled.has(timer) || timer.fire();
    this.#arm();
  }

  readonly #isCancelled = new WeakSet<ArmedTimer>();

  #cancel(timer: ArmedTimer): void {
    this.#isCancelled.add(timer);
    const at = this.#timers.indexOf(timer);
    if (at < 0) return;
    this.#timers.splice(at, 1);
    if (at === 0) this.#arm();
  }

  /** Timers that are due now fire by themselves, also while the clock stands still. */
  #arm(): void {
    clearTimeout(this.#wake);
    this.#wake = undefined;
    const next = this.nextDueMs;
    if (next === undefined || this.#isStopped) return;
    const delayMs = next - this.nowMs();
    if (delayMs > 0 && !this.flows) return;
    this.#wake = setTimeout(() => this.#fireDue(), Math.min(Math.max(0, delayMs), REAL_TIMER_MS_MAX));
    this.#wake.unref();
  }

  /** Index of the first timer that is due after `dueMs`. */
  #indexAfter(dueMs: number): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle]?.dueMs ?? 0) <= dueMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Reads the time of `clock`, but measures and waits in real time: for sockets, whose timeouts must not pass with a jump. */
export function withRealTimers(clock: Clock): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs(),
    setTimer: (delayMs, fire) => systemClock.setTimer(delayMs, fire),
  };
}
