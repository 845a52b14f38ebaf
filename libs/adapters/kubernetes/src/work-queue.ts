/**
 * A queue of object names to reconcile. A name waits at most once and is never processed twice at the same time; a name that fails returns
 * after growing delays; the total rate is limited. Higher priorities come first, and a share is reserved for keys that have waited long, so
 * that none waits for ever.
 */
import { backoffMs, type Clock, type Random, type TimerHandle, TokenBucket } from "@perdure/base";
import { AGED_EVERY, AGED_MS, KEYS_AT_ONCE, KEYS_PER_SECOND, RETRY_FIRST_MS, RETRY_LONGEST_MS } from "./limits.js";

/**
 * Highest first. `urgent`: a user changed or deleted an existing object; `progress`: parts of an object changed, or its timer fired;
 * `creation`: an object that was never reconciled; `resync`: no known change.
 */
export const PRIORITIES = ["urgent", "progress", "creation", "resync"] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface WorkQueueOptions {
  /** Number of keys that are processed per second in the long run. */
  readonly keysPerSecond?: number;
  readonly keysAtOnce?: number;
  /** Keys of the priorities `creation` and `resync` that may be processed at one time; no bound when absent. */
  readonly bulkAtOnce?: number;
  /** Draws the pauses after failures. */
  readonly random?: Random | undefined;
}

export interface AcquiredKey {
  readonly key: string;
  /** Milliseconds since it was added. */
  readonly waitedMs: number;
  readonly priority: Priority;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: Random | undefined;
  /** Keys that may be returned. */
  readonly #bucket: TokenBucket;
  readonly #bulkAtOnce: number;
  /** Waiting keys with the time they were added: oldest first within each priority, except keys whose priority rose while they waited. */
  readonly #waiting: Readonly<Record<Priority, Map<string, number>>> = {
    urgent: new Map(),
    progress: new Map(),
    creation: new Map(),
    resync: new Map(),
  };
  readonly #working = new Map<string, Priority>();
  /** Added again while being worked on. */
  readonly #dirty = new Map<string, Priority>();
  readonly #later = new Map<string, { readonly atMs: number; readonly timer: TimerHandle; readonly priority: Priority }>();
  /** Pauses of keys that are being processed: each pause begins when the processing of its key ends. */
  readonly #afterDone = new Map<string, { readonly delayMs: number; readonly priority: Priority }>();
  readonly #failures = new Map<string, number>();
  readonly #takers: ((acquired: AcquiredKey | undefined) => void)[] = [];
  /** Keys returned since one was returned because of its age. */
  #sinceAged = 0;
  #refill: TimerHandle | undefined;
  #isClosed = false;

  constructor(clock: Clock, options: WorkQueueOptions = {}) {
    this.#clock = clock;
    this.#random = options.random;
    const { keysPerSecond: perSecond = KEYS_PER_SECOND, keysAtOnce: burst = KEYS_AT_ONCE } = options;
    this.#bucket = new TokenBucket({ perSecond, burst }, clock.monotonicMs());
    this.#bulkAtOnce = options.bulkAtOnce ?? Number.POSITIVE_INFINITY;
  }

  /** Keys that wait; those that come later are not counted. */
  get depth(): number {
    return PRIORITIES.reduce((sum, priority) => sum + this.#waiting[priority].size, this.#dirty.size);
  }

  failuresOf(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** A key that already waits keeps its age, and gets the higher one of both priorities. */
  add(key: string, priority: Priority = "progress"): void {
    if (this.#isClosed) return;
    const highest = higher(priority, this.#later.get(key)?.priority);
    this.#cancelLater(key);
    if (this.#working.has(key)) this.#dirty.set(key, higher(highest, this.#dirty.get(key)));
    else this.#wait(key, highest);
    this.#serve();
  }

  /** The earliest of several requested times counts. For a key that is being processed, the delay begins when it is done. */
  addAfter(key: string, delayMs: number, priority: Priority = "progress"): void {
    if (this.#isClosed || this.#priorityOfWaiting(key) !== undefined || this.#dirty.has(key)) return;
    if (this.#working.has(key)) {
      const existing = this.#afterDone.get(key);
      if (existing === undefined || delayMs < existing.delayMs) this.#afterDone.set(key, { delayMs, priority });
      return;
    }
    const atMs = this.#clock.monotonicMs() + delayMs;
    const before = this.#later.get(key);
    if (before !== undefined && before.atMs <= atMs) return;
    before?.timer.cancel();
    this.#later.set(key, { atMs, priority, timer: this.#clock.setTimer(delayMs, () => this.add(key, priority)) });
  }

  /**
   * After a failure: queues the key again after a random delay whose bound doubles with each failure in a row, and never as `urgent`, so
   * that a key that keeps failing does not delay new changes of users. `atLeastMs`: minimum delay that the API server requested.
   */
  retry(key: string, atLeastMs = 0): void {
    const failures = this.failuresOf(key);
    this.#failures.set(key, failures + 1);
    const pauseMs = backoffMs(failures, { firstMs: RETRY_FIRST_MS, longestMs: RETRY_LONGEST_MS }, this.#random);
    const priority = this.#working.get(key) ?? "progress";
    this.addAfter(key, Math.max(atLeastMs, pauseMs), priority === "urgent" ? "progress" : priority);
  }

  /** Resets the failures of a key that succeeded. */
  clearFailures(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, and it is yours until `done`; undefined when the queue was closed. */
  take(): Promise<AcquiredKey | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#serve();
    });
  }

  done(key: string): void {
    this.#working.delete(key);
    const again = this.#dirty.get(key);
    const later = this.#afterDone.get(key);
    this.#dirty.delete(key);
    this.#afterDone.delete(key);
    if (again !== undefined) this.#wait(key, again);
    else if (later !== undefined) this.addAfter(key, later.delayMs, later.priority);
    this.#serve();
  }

  /** Returns no more keys; pending calls that wait for a key resolve without one. */
  close(): void {
    this.#isClosed = true;
    this.#refill?.cancel();
    for (const { timer } of this.#later.values()) timer.cancel();
    this.#later.clear();
    for (const priority of PRIORITIES) this.#waiting[priority].clear();
    this.#dirty.clear();
    this.#afterDone.clear();
    this.#serve();
  }

  #cancelLater(key: string): void {
    this.#later.get(key)?.timer.cancel();
    this.#later.delete(key);
  }

  #priorityOfWaiting(key: string): Priority | undefined {
    return PRIORITIES.find((priority) => this.#waiting[priority].has(key));
  }

  #wait(key: string, priority: Priority): void {
    const before = this.#priorityOfWaiting(key);
    if (before === undefined) {
      this.#waiting[priority].set(key, this.#clock.monotonicMs());
    } else if (higher(priority, before) !== before) {
      this.#waiting[priority].set(key, this.#waiting[before].get(key) ?? this.#clock.monotonicMs());
      this.#waiting[before].delete(key);
    }
  }

  #serve(): void {
    while (this.#takers.length > 0) {
      if (this.#isClosed) {
        this.#takers.shift()?.(undefined);
        continue;
      }
      const next = this.#next();
      if (next === undefined || !this.#spend()) return;
      const { key, addedAtMs, priority, isAged } = next;
      this.#sinceAged = isAged ? 0 : this.#sinceAged + 1;
      this.#waiting[priority].delete(key);
      this.#working.set(key, priority);
      this.#takers.shift()?.({ key, priority, waitedMs: this.#clock.monotonicMs() - addedAtMs });
    }
  }

  /** The oldest one of the highest priority; every `AGED_EVERY`th time the one that has waited longest, when that is longer than `AGED_MS`. */
  #next(): NextKey | undefined {
    const heads: NextKey[] = [];
    for (const priority of PRIORITIES) {
      if (isBulk(priority) && this.#bulkWorking() >= this.#bulkAtOnce) continue;
      const head = this.#waiting[priority].entries().next();
      if (head.done !== true) heads.push({ key: head.value[0], addedAtMs: head.value[1], priority, isAged: false });
    }
    if (this.#sinceAged < AGED_EVERY - 1) return heads[0];
    const [oldest] = heads.toSorted((a, b) => a.addedAtMs - b.addedAtMs);
    const isAged = oldest !== undefined && this.#clock.monotonicMs() - oldest.addedAtMs > AGED_MS;
    return isAged ? { ...oldest, isAged } : heads[0];
  }

  #bulkWorking(): number {
    let count = 0;
    for (const priority of this.#working.values()) if (isBulk(priority)) count++;
    return count;
  }

  /** True when the rate limit allows a key now; otherwise sets a timer to try again. */
  #spend(): boolean {
    if (this.#bucket.take(this.#clock.monotonicMs())) return true;
    this.#refill ??= this.#clock.setTimer(this.#bucket.msUntil(), () => {
      this.#refill = undefined;
      this.#serve();
    });
    return false;
  }
}

interface NextKey {
  readonly key: string;
  readonly addedAtMs: number;
  readonly priority: Priority;
  readonly isAged: boolean;
}

const isBulk = (priority: Priority): boolean => priority === "creation" || priority === "resync";

function higher(one: Priority, other: Priority | undefined): Priority {
  return other === undefined || PRIORITIES.indexOf(one) <= PRIORITIES.indexOf(other) ? one : other;
}
