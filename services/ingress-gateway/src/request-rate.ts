/** Rate limit for the listener of a runtime, as set for its environment: one number and a clock reading per request. */

export class RequestRate {
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  /** Begins with one second's worth. `nowMs` is monotonic, here and below. */
  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#atMs = nowMs;
  }

  /** Whether one more request is within the rate; if so, it is counted. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#perSecond, this.#left + (Math.max(0, nowMs - this.#atMs) / 1000) * this.#perSecond);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
