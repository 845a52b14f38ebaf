/** Provides time that moves only when a test or simulation advances it, so no test waits, and timers fire in one defined order. */
import type { Clock, TimerHandle } from "@perdure/base";

class Timer implements TimerHandle {
  readonly dueMs: number;
  readonly order: number;
  /** Undefined once the timer has fired or was cancelled. */
  fire: (() => void) | undefined;
  readonly #cancelled: () => void;

  constructor(dueMs: number, order: number, fire: () => void, cancelled: () => void) {
    this.dueMs = dueMs;
    this.order = order;
    this.fire = fire;
    this.#cancelled = cancelled;
  }

  cancel(): void {
    if (this.fire === undefined) return;
    this.fire = undefined;
    this.#cancelled();
  }
}

/** A bound on `runAll`, so that two timers arming each other end in an error instead of a hang. */
const RUN_ALL_TIMERS_MAX = 1_000_000;

/** Time that advances only when a test advances it. Timers fire by due time, and in the order they were set when due together. */
export class VirtualClock implements Clock {
  #nowMs: number;
  readonly #startMs: number;
  #order = 0;
  /** Binary min-heap by (dueMs, order); cancelled timers stay until they surface. */
  readonly #heap: Timer[] = [];
  #pending = 0;

  /** `startMs`: wall time at the beginning, by default 2026-01-01T00:00:00Z. */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
    this.#startMs = startMs;
  }

  /** Timers set and neither fired nor cancelled. */
  get pendingTimers(): number {
    return this.#pending;
  }

  /** Time at which the next timer is due; `undefined` without one. */
  get nextDueMs(): number | undefined {
    this.#dropCancelled();
    return this.#heap[0]?.dueMs;
  }

  nowMs(): number {
    return Math.floor(this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs;
  }

  setTimer(delayMs: number, fire: () => void): TimerHandle {
    if (Number.isNaN(delayMs)) throw new RangeError("a delay must be a number");
    const timer = new Timer(this.#nowMs + Math.max(0, delayMs), this.#order++, fire, this.#cancelled);
    this.#insert(timer);
    this.#pending++;
    return timer;
  }

  readonly #cancelled = (): void => {
    this.#pending--;
  };

  /** Moves to `toMs`, firing what is due on the way at its own due time, also what those timers set. Never goes back. */
  advanceTo(toMs: number): void {
    if (toMs < this.#nowMs) throw new RangeError("time does not go back");
    while (this.#fireNext(toMs));
    this.#nowMs = toMs;
  }

  /** `advanceTo` relative to now. */
  advanceBy(ms: number): void {
    this.advanceTo(this.#nowMs + ms);
  }

  /** Fires the next timer, moving to its due time; false without one. */
  runNext(): boolean {
    return this.#fireNext(Number.POSITIVE_INFINITY);
  }

  /** Fires timers until none is left. Throws after a million, because a timer that arms itself would never end. */
  runAll(): void {
    for (let fired = 0; this.runNext(); fired++) {
      if (fired >= RUN_ALL_TIMERS_MAX) throw new Error("timers keep arming each other");
    }
  }

  #fireNext(untilMs: number): boolean {
    this.#dropCancelled();
    const timer = this.#heap[0];
    if (timer === undefined || timer.dueMs > untilMs) return false;
    this.#removeFirst();
    this.#nowMs = timer.dueMs;
    const fire = timer.fire;
    timer.fire = undefined;
    this.#pending--;
    fire?.();
    return true;
  }

  #dropCancelled(): void {
    while (this.#heap.length > 0 && this.#heap[0]!.fire === undefined) this.#removeFirst();
  }

  #insert(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(timer, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = timer;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
