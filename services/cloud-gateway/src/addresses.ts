/**
 * Limits clients without a valid credential per network address (cloud.md §6.5), before anything is looked up for them: clients that guess
 * credentials or send anonymous requests without end. Requests with a credential that is cached as valid are not counted here.
 */

import { BoundedCache, type Clock, TokenBucket } from "@perdure/base";
import { networkOf } from "@perdure/cloud";
import { ADDRESSES_MAX, NETWORK_LIMITS, type NetworkLimits } from "./limits.js";
import { RefusalPace } from "./pace.js";

export class ClientAddress {
  /**
   * Spent by answers 401, and by each look-up without a result. Look-ups that were under way when it ran out make it negative, so that in
   * the long run no more are made than it allows, however many arrive at once.
   */
  readonly unauthorized: TokenBucket;
  readonly anonymous: TokenBucket;
  readonly pace: RefusalPace;
  /** Look-ups under way. */
  lookups = 0;
  readonly #lookupsMax: number;

  constructor(nowMs: number, { unauthorizedPerMinute, lookupsMax, anonymousBurst, anonymousPerSecond }: NetworkLimits) {
    this.#lookupsMax = lookupsMax;
    this.unauthorized = new TokenBucket({ perSecond: unauthorizedPerMinute / 60, burst: unauthorizedPerMinute }, nowMs);
    this.anonymous = new TokenBucket({ perSecond: anonymousPerSecond, burst: anonymousBurst }, nowMs);
    this.pace = new RefusalPace(nowMs);
  }

  /** Whether a credential of this address may be looked up. */
  mayLookUp(nowMs: number): boolean {
    return this.lookups < this.#lookupsMax && this.unauthorized.has(nowMs);
  }
}

export class ClientAddresses {
  readonly #clock: Clock;
  readonly #limits: NetworkLimits;
  readonly #byNetwork = new BoundedCache<string, ClientAddress>({ entriesMax: ADDRESSES_MAX });

  constructor(clock: Clock, limits: NetworkLimits = NETWORK_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** `remote`: address as a socket reports it. */
  of(remote: string | undefined): ClientAddress {
    return this.#byNetwork.getOrCreate(networkOf(remote), () => new ClientAddress(this.#clock.monotonicMs(), this.#limits));
  }
}
