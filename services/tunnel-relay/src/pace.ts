/** Slows the traffic of an environment that has used up its transfer of the month, as every endpoint does (cloud.md §5.4). */

import type { Clock } from "@perdure/base";
import { THROTTLED_BYTES_PER_SECOND } from "@perdure/cloud";
import { THROTTLED_BURST_MS } from "./limits.js";

/** The pace of all requests of one environment together. */
export class TransferPace {
  readonly #clock: Clock;
  /** Monotonic time (ms) at which the bytes counted so far fit the rate. */
  #paidAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#paidAtMs = clock.monotonicMs();
  }

  /** Counts the bytes and returns how long (ms) the caller must wait before the next ones; 0: not at all. */
  take(bytes: number): number {
    const nowMs = this.#clock.monotonicMs();
    this.#paidAtMs = Math.max(this.#paidAtMs, nowMs) + (bytes * 1000) / THROTTLED_BYTES_PER_SECOND;
    return Math.max(0, this.#paidAtMs - nowMs - THROTTLED_BURST_MS);
  }
}
