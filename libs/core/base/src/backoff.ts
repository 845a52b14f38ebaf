/**
 * Backoff with full jitter: many clients lose the same server at the same moment. If all of them wait equally long they return together and
 * overload it again, so each waits for a random part of a bound that doubles with each failure in a row.
 */
import { BACKOFF_DOUBLINGS_MAX } from "./limits.js";
import { type Random, systemRandom } from "./random.js";

interface BackoffBounds {
  /** Longest pause after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** Longest pause after any failure, in milliseconds. */
  readonly longestMs: number;
}

/** The pause after a failure that follows `failures` others: whole milliseconds, uniform in 0 … min(longestMs, firstMs × 2^failures). */
export function backoffMs(failures: number, { firstMs, longestMs }: BackoffBounds, random: Random = systemRandom): number {
  const boundMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures, BACKOFF_DOUBLINGS_MAX));
  return Math.ceil(random.float() * boundMs);
}

/** Pauses between the attempts of one client. */
export class Backoff {
  readonly #bounds: BackoffBounds;
  readonly #random: Random;
  #failures = 0;

  constructor(bounds: BackoffBounds, random: Random = systemRandom) {
    this.#bounds = bounds;
    this.#random = random;
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** Counts a failure and returns the pause after it, in milliseconds. */
  next(): number {
    return backoffMs(this.#failures++, this.#bounds, this.#random);
  }

  /** Resets the count after a success: the next pause is short again. */
  reset(): void {
    this.#failures = 0;
  }
}
