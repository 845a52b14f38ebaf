/**
 * Rates of single keys below the rate of their environment, so that a faulty program leaves the other callers their part (cloud.md §6.5).
 */
import { BoundedCache, TokenBucket } from "@perdure/base";
import type { AuthenticatedCaller } from "@perdure/cloud";
import type { GatewayEndpoint } from "./environments.js";
import { KEY_BUCKETS_MAX } from "./limits.js";

export class KeyRates {
  /** Buckets by key and endpoint. */
  readonly #buckets = new BoundedCache<string, TokenBucket>({ entriesMax: KEY_BUCKETS_MAX });

  /** Undefined when the request may pass; otherwise the bucket that is empty. `share`: of this gateway. */
  refusedBy(caller: AuthenticatedCaller, endpoint: GatewayEndpoint, share: number, nowMs: number): TokenBucket | undefined {
    if (caller.kind !== "key" || caller.ratePerSecond === undefined) return undefined;
    const limit = { perSecond: caller.ratePerSecond, burst: caller.ratePerSecond };
    const bucket = this.#buckets.getOrCreate(`${caller.id} ${endpoint}`, () => new TokenBucket(limit, nowMs));
    bucket.divide(share, nowMs);
    return bucket.take(nowMs) ? undefined : bucket;
  }
}
