/**
 * Why: an invocation that runs for hours without an end or a suspension is one that somebody should look at. How many there are is told
 * without looking at each: beginnings are counted by minutes, and a question adds up the old ones.
 */
import { RUNNING_AGE_STEP_MS } from "./limits.js";

export class RunningAges {
  /** Invocations that run here, by the step in which they began. */
  readonly #counts = new Map<number, number>();

  change(sinceMs: number, by: 1 | -1): void {
    const step = Math.floor(sinceMs / RUNNING_AGE_STEP_MS);
    const count = (this.#counts.get(step) ?? 0) + by;
    if (count === 0) this.#counts.delete(step);
    else this.#counts.set(step, count);
  }

  /** Those that began at least so long ago, to the step. */
  olderThan(ageMs: number, nowMs: number): number {
    const last = Math.floor((nowMs - ageMs) / RUNNING_AGE_STEP_MS);
    let total = 0;
    for (const [step, count] of this.#counts) if (step < last) total += count;
    return total;
  }
}
