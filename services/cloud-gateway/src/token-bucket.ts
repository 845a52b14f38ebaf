/** Limits a rate (requests per second in the long run, and a burst) of environments and addresses: two numbers and a clock reading. */

export class TokenBucket {
  #perSecond: number;
  #burst: number;
  #share = 1;
  #tokens: number;
  #atMs: number;

  /** Starts full. `nowMs` is monotonic, here and below. */
  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Changes the rate and burst: used tokens stay used, and additional ones are available at once. */
  change(perSecond: number, burst: number, nowMs: number): void {
    if (perSecond === this.#perSecond && burst === this.#burst) return;
    this.#refill(nowMs);
    this.#tokens = Math.max(0, this.#tokens + (burst - this.#burst) * this.#share);
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  /** Sets this bucket's share of the rate. The bucket fills only with time: a share that falls and rises must not create tokens. */
  divide(share: number, nowMs: number): void {
    if (share === this.#share) return;
    this.#refill(nowMs);
    this.#share = share;
    this.#tokens = Math.min(this.#tokens, this.burst);
  }

  /** Takes a token; false when there was none. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes a token even when there is none: later tokens pay for it. False when there was none. */
  overdraw(nowMs: number): boolean {
    this.#refill(nowMs);
    this.#tokens -= 1;
    return this.#tokens >= 0;
  }

  has(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= 1;
  }

  /** Burst of its share; at least one. */
  get burst(): number {
    return Math.max(1, this.#burst * this.#share);
  }

  /** Whole tokens that are left. */
  get remaining(): number {
    return Math.max(0, Math.floor(this.#tokens));
  }

  /** Whole seconds until the next token, at least one. */
  get secondsToNext(): number {
    if (this.#perSecond <= 0) return 3_600;
    return Math.max(1, Math.ceil((1 - this.#tokens) / (this.#perSecond * this.#share)));
  }

  /** Whole seconds until the bucket is full. */
  get secondsToFull(): number {
    return this.#perSecond <= 0 ? 3_600 : Math.ceil((this.burst - this.#tokens) / (this.#perSecond * this.#share));
  }

  #refill(nowMs: number): void {
    if (nowMs <= this.#atMs) return;
    this.#tokens = Math.min(this.burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * this.#perSecond * this.#share);
    this.#atMs = nowMs;
  }
}
