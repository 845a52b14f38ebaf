/**
 * Why: whoever guesses credentials, or asks anonymously without end, is limited by where they come from (cloud.md §6.5), before
 * anything is looked up for them. Who shows a credential that is known to be good is not counted here.
 */

import type { Clock } from "@perdure/base";
import { networkOf } from "@perdure/cloud";
import {
  ADDRESSES_MAX,
  ANONYMOUS_BURST,
  ANONYMOUS_PER_SECOND,
  LOOKUPS_PER_ADDRESS_MAX,
  UNAUTHORIZED_BURST,
  UNAUTHORIZED_PER_SECOND,
} from "./limits.js";
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

  constructor(nowMs: number) {
    this.unauthorized = new TokenBucket(UNAUTHORIZED_PER_SECOND, UNAUTHORIZED_BURST, nowMs);
    this.anonymous = new TokenBucket(ANONYMOUS_PER_SECOND, ANONYMOUS_BURST, nowMs);
    this.pace = new Pace(nowMs);
  }

  /** Whether a credential of this address may be looked up. */
  mayLookUp(nowMs: number): boolean {
    return this.lookups < LOOKUPS_PER_ADDRESS_MAX && this.unauthorized.has(nowMs);
  }
}

export class Addresses {
  readonly #clock: Clock;
  readonly #known = new Map<string, Address>();

  constructor(clock: Clock) {
    this.#clock = clock;
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
    const address = new Address(this.#clock.monotonicMs());
    this.#known.set(name, address);
    return address;
  }
}
