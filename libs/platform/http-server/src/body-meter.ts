/**
 * Measures the rate of a request body that is streamed; `BodyGate` has the same bound for bodies that are read whole. A body that trickles in
 * occupies a connection and a slot; honest clients keep an average rate (cloud.md §6.5, §7 T22).
 */
import { bodyBytesPerSecondMin, bodyRateWindowMs } from "./limits.js";

export class BodyMeter {
  #windowAtMs: number;
  #windowBytes = 0;
  /** The receiver stopped reading for a while, so the rate of this window proves nothing. */
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
    if (passedMs < bodyRateWindowMs) return false;
    const tooSlow = !this.#pausedInWindow && this.#windowBytes < (bodyBytesPerSecondMin * passedMs) / 1000;
    this.#windowAtMs = nowMs;
    this.#windowBytes = 0;
    this.#pausedInWindow = this.paused;
    return tooSlow;
  }
}
