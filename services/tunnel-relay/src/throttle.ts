/**
 * Slows the requests of environments that have used up their transfer of the month, all requests of one environment together
 * (cloud.md §5.4).
 */
import { type Clock, TokenBucket } from "@perdure/base";
import { type EnvironmentFacts, type EnvironmentId, THROTTLED_BYTES_PER_SECOND } from "@perdure/cloud";
import { THROTTLED_BURST_MS, THROTTLED_MAX } from "./limits.js";

const RATE = {
  perSecond: THROTTLED_BYTES_PER_SECOND,
  burst: (THROTTLED_BYTES_PER_SECOND * THROTTLED_BURST_MS) / 1_000,
};

export class TransferThrottle {
  readonly #clock: Clock;
  /** Bytes that throttled environments may still transfer at once. */
  readonly #buckets = new Map<EnvironmentId, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Applies the latest facts of an environment; streams in progress follow them too. */
  update({ id, isThrottled }: EnvironmentFacts): void {
    if (isThrottled !== true) this.#buckets.delete(id);
    else if (!this.#buckets.has(id) && this.#buckets.size < THROTTLED_MAX)
      this.#buckets.set(id, new TokenBucket(RATE, this.#clock.monotonicMs()));
  }

  /** Counts the bytes and returns how long (ms) the caller must wait before the next ones; 0: not at all. */
  pauseMs(id: EnvironmentId, bytes: number): number {
    const bucket = this.#buckets.get(id);
    if (bucket === undefined) return 0;
    bucket.overdraw(this.#clock.monotonicMs(), bytes);
    return bucket.msUntil(0);
  }
}
