/**
 * The one limit of rates: a token bucket, which allows a burst and, in the long run, a number of requests per second. `RateLimiter` has a
 * bucket for each key (user, network, API key) and a bound of keys.
 */
import { BoundedCache } from "./bounded-cache.js";
import type { Clock } from "./clock.js";
import { RETRY_AFTER_SECONDS_MAX, TOKEN_TOLERANCE } from "./limits.js";

export interface RateLimit {
  /** Tokens that are added per second; zero: only the burst is ever available. */
  readonly perSecond: number;
  /** Most tokens that a bucket holds, and what it begins with; less than one counts as one. */
  readonly burst: number;
}

/** Limits a rate without a clock: every method gets a monotonic reading, because a caller that checks several buckets has one already. */
export class TokenBucket {
  #limit: RateLimit;
  #share = 1;
  #tokens: number;
  #atMs: number;

  /** Starts full. */
  constructor(limit: RateLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#atMs = nowMs;
  }

  /** Changes the rate and burst: used tokens stay used, and additional ones are available at once. */
  change(limit: RateLimit, nowMs: number): void {
    const { perSecond, burst } = this.#limit;
    if (limit.perSecond === perSecond && limit.burst === burst) return;
    this.#refill(nowMs);
    this.#tokens = Math.max(0, this.#tokens + (limit.burst - burst) * this.#share);
    this.#limit = limit;
  }

  /**
   * Sets the part of the rate and burst that this bucket has (0 to 1), where several processes share one rate. The bucket fills only with
   * time: a share that falls and rises must not create tokens.
   */
  divide(share: number, nowMs: number): void {
    if (share === this.#share) return;
    this.#refill(nowMs);
    this.#share = share;
    this.#tokens = Math.min(this.#tokens, this.burst);
  }

  /** Takes `cost` tokens, or the whole burst when that is less; false, and nothing is taken, when they are not there. */
  take(nowMs: number, cost = 1): boolean {
    this.#refill(nowMs);
    const required = Math.min(cost, this.burst);
    if (this.#tokens < required - TOKEN_TOLERANCE) return false;
    this.#tokens -= required;
    return true;
  }

  /** Takes `cost` tokens even when they are not there: later tokens pay for them. False when they were not there. */
  overdraw(nowMs: number, cost = 1): boolean {
    this.#refill(nowMs);
    this.#tokens -= cost;
    return this.#tokens >= -TOKEN_TOLERANCE;
  }

  /** Whether `take` would succeed now. */
  has(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= 1 - TOKEN_TOLERANCE;
  }

  /** Burst of its share; at least one. */
  get burst(): number {
    return Math.max(1, this.#limit.burst * this.#share);
  }

  /** Whole tokens that are left. */
  get remaining(): number {
    return Math.max(0, Math.floor(this.#tokens + TOKEN_TOLERANCE));
  }

  /** Milliseconds from the last call until the bucket has `cost` tokens (or its whole burst); 0 when it has them. */
  msUntil(cost = 1): number {
    return Math.max(0, this.#secondsUntil(Math.min(cost, this.burst)) * 1_000);
  }

  /** Whole seconds until the bucket has `cost` tokens (or its whole burst), at least one: the value of `Retry-After`. */
  retryAfterSeconds(cost = 1): number {
    return Math.max(1, Math.ceil(this.#secondsUntil(Math.min(cost, this.burst))));
  }

  /** Whole seconds until the bucket is full. */
  get secondsToFull(): number {
    return Math.ceil(this.#secondsUntil(this.burst));
  }

  #secondsUntil(tokens: number): number {
    const { perSecond } = this.#limit;
    const missing = tokens - this.#tokens;
    return perSecond <= 0 ? RETRY_AFTER_SECONDS_MAX : missing / (perSecond * this.#share);
  }

  #refill(nowMs: number): void {
    if (nowMs <= this.#atMs) return;
    const added = ((nowMs - this.#atMs) / 1_000) * this.#limit.perSecond * this.#share;
    this.#tokens = Math.min(this.burst, this.#tokens + added);
    this.#atMs = nowMs;
  }
}

type RateDecision =
  | { readonly kind: "allowed" }
  /** Nothing was taken. `retryAfterSeconds`: whole seconds until the same request would be allowed, at least one. */
  | { readonly kind: "limited"; readonly retryAfterSeconds: number };

const ALLOWED: RateDecision = { kind: "allowed" };

export class RateLimiter<K> {
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  readonly #buckets: BoundedCache<K, TokenBucket>;

  /** `keysMax`: bound of the buckets; the key that was used longest ago is evicted, and starts with a full bucket again. */
  constructor(clock: Clock, limit: RateLimit, keysMax: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#buckets = new BoundedCache({ entriesMax: keysMax });
  }

  /** Takes `cost` tokens of the key; a cost above the burst takes the whole burst. */
  take(key: K, cost = 1): RateDecision {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.getOrCreate(key, () => new TokenBucket(this.#limit, nowMs));
    if (bucket.take(nowMs, cost)) return ALLOWED;
    return { kind: "limited", retryAfterSeconds: bucket.retryAfterSeconds(cost) };
  }
}
