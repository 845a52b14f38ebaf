/**
 * Why: whoever guesses credentials, or asks anonymously without end, is limited by where they come from (cloud.md §6.5), before
 * anything is looked up for them. Who shows a credential that is known to be good is not counted here.
 */

import type { Clock } from "@perdure/base";
import { networkOf } from "@perdure/cloud";
import { ADDRESSES_MAX, NETWORK_LIMITS, type NetworkLimits } from "./limits.js";
import { Pace } from "./pace.js";
import { TokenBucket } from "./token-bucket.js";

export class Address {
  /**
   * Spent by answers 401, and by each look-up that found nobody: those that were under way when it ran out are owed, so that in the long
   * run no more are made than this allows, however many come at once.
   */
  readonly unauthorized: TokenBucket;
  readonly anonymous: TokenBucket;
  readonly pace: Pace;
  /** Look-ups under way. */
  lookups = 0;
  readonly #lookupsMax: number;

  constructor(nowMs: number, { unauthorizedPerMinute, lookupsMax, anonymousBurst, anonymousPerSecond }: NetworkLimits) {
    this.#lookupsMax = lookupsMax;
    this.unauthorized = new TokenBucket(unauthorizedPerMinute / 60, unauthorizedPerMinute, nowMs);
    this.anonymous = new TokenBucket(anonymousPerSecond, anonymousBurst, nowMs);
    this.pace = new Pace(nowMs);
  }

  /** Whether a credential of this address may be looked up. */
  mayLookUp(nowMs: number): boolean {
    return this.lookups < this.#lookupsMax && this.unauthorized.has(nowMs);
  }
}

export class Addresses {
  readonly #clock: Clock;
  readonly #limits: NetworkLimits;
  readonly #known = new Map<string, Address>();

  constructor(clock: Clock, limits: NetworkLimits = NETWORK_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** `remote` as a socket tells it. */
  of(remote: string | undefined): Address {
    const name = networkOf(remote);
    const known = this.#known.get(name);
    if (known !== undefined) {
      this.#known.delete(name);
      this.#known.set(name, known);
      return known;
    }
    if (this.#known.size >= ADDRESSES_MAX) this.#known.delete(this.#known.keys().next().value as string);
    const address = new Address(this.#clock.monotonicMs(), this.#limits);
    this.#known.set(name, address);
    return address;
  }
}
