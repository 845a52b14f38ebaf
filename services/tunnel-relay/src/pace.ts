/** Why: an environment that has used up its month's traffic goes on slowly, here as at all doors (cloud.md §5.4). */

import type { Clock } from "@perdure/base";
import { THROTTLED_BYTES_PER_SECOND } from "@perdure/cloud";
import { THROTTLED_BURST_MS } from "./limits.js";

/** Of all requests of one environment together. */
export class TransferPace {
  readonly #clock: Clock;
  /** When everything that was taken has been paid for. */
  #paidAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#paidAtMs = clock.monotonicMs();
  }

  /** How long (ms) whoever moved so many bytes should wait before the next ones; 0: not at all. */
  take(bytes: number): number {
    const nowMs = this.#clock.monotonicMs();
    this.#paidAtMs = Math.max(this.#paidAtMs, nowMs) + (bytes * 1000) / THROTTLED_BYTES_PER_SECOND;
    return Math.max(0, this.#paidAtMs - nowMs - THROTTLED_BURST_MS);
  }
}
