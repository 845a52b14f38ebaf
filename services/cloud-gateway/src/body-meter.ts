/**
 * Measures the rate of a request body. A body that trickles in occupies a connection and a slot; honest clients keep an average rate
 * (cloud.md §6.5, §7 T22).
 */
import { BODY_BYTES_PER_SECOND_MIN, BODY_RATE_WINDOW_MS } from "./limits.js";

export class BodyMeter {
  #windowAtMs: number;
  #windowBytes = 0;
  /** The gateway stopped reading for a while, so the rate of this window proves nothing. */
  #pausedInWindow = false;
  paused = false;

  constructor(nowMs: number) {
    this.#windowAtMs = nowMs;
  }

  count(bytes: number): void {
    this.#windowBytes += bytes;
  }

  pause(): void {
    this.paused = true;
    this.#pausedInWindow = true;
  }

  /** Whether the window that ends now was too slow; a full window starts the next one. */
  isTooSlow(nowMs: number): boolean {
    const passedMs = nowMs - this.#windowAtMs;
    if (passedMs < BODY_RATE_WINDOW_MS) return false;
    const tooSlow = !this.#pausedInWindow && this.#windowBytes < (BODY_BYTES_PER_SECOND_MIN * passedMs) / 1000;
    this.#windowAtMs = nowMs;
    this.#windowBytes = 0;
    this.#pausedInWindow = this.paused;
    return tooSlow;
  }
}
