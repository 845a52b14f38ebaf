/**
 * Bounds the rate of calls per user: operations of the Cloud API cost queries of a shared database. The rate holds across all addresses
 * of a user.
 */
import { type Clock, type RateLimit, RateLimiter } from "@perdure/base";
import type { UserId } from "@perdure/cloud";
import { TenancyApiError } from "@perdure/cloud-requests";
import { API_CALLS, CALLING_USERS_MAX } from "./limits.js";

/** Rates within one process: with several processes a user has this rate at each. */
export class CallRates {
  readonly #limiter: RateLimiter<UserId>;

  constructor(clock: Clock, limit: RateLimit = API_CALLS) {
    this.#limiter = new RateLimiter(clock, limit, CALLING_USERS_MAX);
  }

  /** `cost`: in calls. Throws PERD0429 with `Retry-After`. */
  take(userId: UserId, cost = 1): void {
    const decision = this.#limiter.take(userId, cost);
    if (decision.kind === "allowed") return;
    const seconds = decision.retryAfterSeconds;
    throw new TenancyApiError("PERD0429", `Too many calls: try again in ${seconds} s`, { "retry-after": String(seconds) });
  }
}
