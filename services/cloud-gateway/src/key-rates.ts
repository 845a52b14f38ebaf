/**
 * Rates of single keys below the rate of their environment, so that a faulty program leaves the other callers their part (cloud.md §6.5).
 */
import type { ApiKeyId, AuthenticatedCaller } from "@perdure/cloud";
import type { GatewayEndpoint } from "./environments.js";
import { KEY_BUCKETS_MAX } from "./limits.js";
import { TokenBucket } from "./token-bucket.js";

export class KeyRates {
  /** In order of use, least recently used first. */
  readonly #buckets = new Map<string, TokenBucket>();

  /** Undefined when the request may pass; otherwise the bucket that is empty. `share`: of this gateway. */
  refusedBy(caller: AuthenticatedCaller, endpoint: GatewayEndpoint, share: number, nowMs: number): TokenBucket | undefined {
    if (caller.kind !== "key" || caller.ratePerSecond === undefined) return undefined;
    const bucket = this.#bucketOf(caller.id, endpoint, caller.ratePerSecond, nowMs);
    bucket.divide(share, nowMs);
    return bucket.take(nowMs) ? undefined : bucket;
  }

  #bucketOf(id: ApiKeyId, endpoint: GatewayEndpoint, perSecond: number, nowMs: number): TokenBucket {
    const name = `${id} ${endpoint}`;
    let bucket = this.#buckets.get(name);
    if (bucket !== undefined) {
      this.#buckets.delete(name);
    } else {
      if (this.#buckets.size >= KEY_BUCKETS_MAX) this.#buckets.delete(this.#buckets.keys().next().value as string);
      bucket = new TokenBucket(perSecond, perSecond, nowMs);
    }
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
