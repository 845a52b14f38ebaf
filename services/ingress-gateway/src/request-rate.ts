/** Why: a runtime's door takes so many requests per second as its environment may have: one number and a clock reading per request. */

export class RequestRate {
  readonly #perSecond: number;
  #left: number;
  #atMs: number;

  /** Begins with a second's worth. `nowMs` is monotonic, here and below. */
  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#atMs = nowMs;
  }

  /** Whether one more is within the rate; it is counted then. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#perSecond, this.#left + (Math.max(0, nowMs - this.#atMs) / 1000) * this.#perSecond);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
