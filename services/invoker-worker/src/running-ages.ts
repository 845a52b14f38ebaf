/**
 * Counts long-running invocations. An invocation that runs for hours without an end or a suspension deserves an operator's attention.
 * Beginnings are counted by minutes, so that a read adds up the old counters without visiting each invocation.
 */
import { RUNNING_AGE_STEP_MS } from "./limits.js";

export class RunningAges {
  /** Running invocations, by the step in which they began. */
  readonly #counts = new Map<number, number>();

  change(sinceMs: number, by: 1 | -1): void {
    const step = Math.floor(sinceMs / RUNNING_AGE_STEP_MS);
    const count = (this.#counts.get(step) ?? 0) + by;
    if (count === 0) this.#counts.delete(step);
    else this.#counts.set(step, count);
  }

  /** Number of invocations that began at least this long ago, to the step. */
  olderThan(ageMs: number, nowMs: number): number {
    const last = Math.floor((nowMs - ageMs) / RUNNING_AGE_STEP_MS);
    let total = 0;
    for (const [step, count] of this.#counts) if (step < last) total += count;
    return total;
  }
}
