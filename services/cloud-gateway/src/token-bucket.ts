/** Why: "so many per second in the long run, so many at once" for environments and addresses: two numbers and a clock reading. */

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

  /** Another plan: what was used stays used, and what is more is there at once. */
  change(perSecond: number, burst: number, nowMs: number): void {
    if (perSecond === this.#perSecond && burst === this.#burst) return;
    this.#refill(nowMs);
    this.#tokens = Math.max(0, this.#tokens + (burst - this.#burst) * this.#share);
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  /** Another part of the plan is this bucket's. It fills up by time only: a share that goes up and down must not make anything of nothing. */
  divide(share: number, nowMs: number): void {
    if (share === this.#share) return;
    this.#refill(nowMs);
    this.#share = share;
    this.#tokens = Math.min(this.#tokens, this.burst);
  }

  /** Whether there was one; it is gone then. */
  take(nowMs: number): boolean {
    this.#refill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Takes one even when there is none: what is owed comes off later ones. Whether there was one. */
  overdraw(nowMs: number): boolean {
    this.#refill(nowMs);
    this.#tokens -= 1;
    return this.#tokens >= 0;
  }

  has(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= 1;
  }

  /** Of its share; one at least. */
  get burst(): number {
    return Math.max(1, this.#burst * this.#share);
  }

  /** Whole ones that are left. */
  get remaining(): number {
    return Math.max(0, Math.floor(this.#tokens));
  }

  /** Whole seconds until the next one, at least one. */
  get secondsToNext(): number {
    if (this.#perSecond <= 0) return 3_600;
    return Math.max(1, Math.ceil((1 - this.#tokens) / (this.#perSecond * this.#share)));
  }

  /** Whole seconds until it is full. */
  get secondsToFull(): number {
    return this.#perSecond <= 0 ? 3_600 : Math.ceil((this.burst - this.#tokens) / (this.#perSecond * this.#share));
  }

  #refill(nowMs: number): void {
    if (nowMs <= this.#atMs) return;
    this.#tokens = Math.min(this.burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * this.#perSecond * this.#share);
    this.#atMs = nowMs;
  }
}
