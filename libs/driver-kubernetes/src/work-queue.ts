/**
 * Why: a change says that an object should be looked at, not what to do about it. A queue of names: one that waits waits once, one that is
 * worked on is never worked on twice at the same time, one that fails comes back later and later, and all together not too fast.
 */
import { backoffMs, type Clock, type Random, type TimerHandle } from "@perdure/base";
import { KEYS_AT_ONCE, KEYS_PER_SECOND, RETRY_FIRST_MS, RETRY_LONGEST_MS } from "./limits.js";

export interface WorkQueueOptions {
  /** In the long run. */
  readonly keysPerSecond?: number;
  readonly keysAtOnce?: number;
  /** For the pauses after failures. */
  readonly random?: Random | undefined;
}

export interface TakenKey {
  readonly key: string;
  /** Milliseconds since it was added. */
  readonly waitedMs: number;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random | undefined;
  readonly #perMs: number;
  readonly #atOnce: number;
  /** Waiting, oldest first, with when they were added. */
  readonly #waiting = new Map<string, number>();
  readonly #working = new Set<string>();
  /** Added again while being worked on. */
  readonly #dirty = new Set<string>();
  readonly #later = new Map<string, { readonly atMs: number; readonly timer: TimerHandle }>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((taken: TakenKey | undefined) => void)[] = [];
  #tokens: number;
  #filledAtMs: number;
  #refill: TimerHandle | undefined;
  #isClosed = false;

  constructor(clock: Clock, options: WorkQueueOptions = {}) {
    this.#clock = clock;
    this.#random = options.random;
    this.#perMs = (options.keysPerSecond ?? KEYS_PER_SECOND) / 1000;
    this.#atOnce = options.keysAtOnce ?? KEYS_AT_ONCE;
    this.#tokens = this.#atOnce;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Keys that wait; those that come later are not counted. */
  get depth(): number {
    return this.#waiting.size + this.#dirty.size;
  }

  failuresOf(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  add(key: string): void {
    if (this.#isClosed) return;
    this.#cancelLater(key);
    if (this.#working.has(key)) this.#dirty.add(key);
    else if (!this.#waiting.has(key)) this.#waiting.set(key, this.#clock.monotonicMs());
    this.#serve();
  }

  /** Of several times asked for, the earliest counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isClosed || this.#waiting.has(key) || this.#dirty.has(key)) return;
    const atMs = this.#clock.monotonicMs() + delayMs;
    const before = this.#later.get(key);
    if (before !== undefined && before.atMs <= atMs) return;
    before?.timer.cancel();
    this.#later.set(key, { atMs, timer: this.#clock.setTimer(delayMs, () => this.add(key)) });
  }

  /** It did not work: again after a random pause whose bound doubles with each failure in a row. `atLeastMs`: somebody asked for more. */
  retry(key: string, atLeastMs = 0): void {
    const failures = this.failuresOf(key);
    this.#failures.set(key, failures + 1);
    const pauseMs = backoffMs(failures, { firstMs: RETRY_FIRST_MS, longestMs: RETRY_LONGEST_MS }, this.#random);
    this.addAfter(key, Math.max(atLeastMs, pauseMs));
  }

  /** It worked. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, and it is yours until `done`; undefined when the queue was closed. */
  take(): Promise<TakenKey | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#serve();
    });
  }

  done(key: string): void {
    this.#working.delete(key);
    if (!this.#dirty.delete(key)) return;
    this.#cancelLater(key);
    this.#waiting.set(key, this.#clock.monotonicMs());
    this.#serve();
  }

  /** Nothing is handed out any more; who waits for a key is told. */
  close(): void {
    this.#isClosed = true;
    this.#refill?.cancel();
    for (const { timer } of this.#later.values()) timer.cancel();
    this.#later.clear();
    this.#waiting.clear();
    this.#dirty.clear();
    this.#serve();
  }

  #cancelLater(key: string): void {
    this.#later.get(key)?.timer.cancel();
    this.#later.delete(key);
  }

  #serve(): void {
    while (this.#takers.length > 0) {
      if (this.#isClosed) {
        this.#takers.shift()?.(undefined);
        continue;
      }
      const next = this.#waiting.entries().next();
      if (next.done === true || !this.#spend()) return;
      const [key, addedAt] = next.value;
      this.#waiting.delete(key);
      this.#working.add(key);
      this.#takers.shift()?.({ key, waitedMs: this.#clock.monotonicMs() - addedAt });
    }
  }

  /** Whether a key may be handed out now; else comes back when one may. */
  #spend(): boolean {
    const now = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#atOnce, this.#tokens + (now - this.#filledAtMs) * this.#perMs);
    this.#filledAtMs = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return true;
    }
    this.#refill ??= this.#clock.setTimer((1 - this.#tokens) / this.#perMs, () => {
      this.#refill = undefined;
      this.#serve();
    });
    return false;
  }
}
