/**
 * Bounds the rate of calls per user: operations of the Cloud API cost queries of a shared database. The rate holds across all addresses
 * of a user.
 */
import type { Clock } from "@perdure/base";
import type { UserId } from "@perdure/cloud";
import { TenancyApiError } from "@perdure/cloud-requests";
import { API_CALLS, CALLING_USERS_MAX } from "./limits.js";

export interface CallRateLimits {
  readonly perSecond: number;
  readonly burst: number;
}

interface CallBucket {
  calls: number;
  atMs: number;
}

/** Rates within one process: with several processes a user has this rate at each. */
export class CallRates {
  readonly #clock: Clock;
  readonly #limits: CallRateLimits;
  readonly #ofUsers = new Map<UserId, CallBucket>();

  constructor(clock: Clock, limits: CallRateLimits = API_CALLS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** `cost`: in calls. Throws PERD0429 with `Retry-After`. */
  take(userId: UserId, cost = 1): void {
    const { perSecond, burst } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const before = this.#ofUsers.get(userId) ?? { calls: burst, atMs: nowMs };
    const calls = Math.min(burst, before.calls + ((nowMs - before.atMs) * perSecond) / 1_000);
    const required = Math.min(cost, burst);
    this.#keep(userId, { calls: calls < required ? calls : calls - required, atMs: nowMs });
    if (calls >= required) return;
    const seconds = Math.ceil((required - calls) / perSecond);
    throw new TenancyApiError("PERD0429", `Too many calls: try again in ${seconds} s`, { "retry-after": String(seconds) });
  }

  /** Evicts the user that called longest ago, who starts with a full bucket again. */
  #keep(userId: UserId, bucket: CallBucket): void {
    this.#ofUsers.delete(userId);
    if (this.#ofUsers.size >= CALLING_USERS_MAX) this.#ofUsers.delete(this.#ofUsers.keys().next().value as UserId);
    this.#ofUsers.set(userId, bucket);
  }
}
