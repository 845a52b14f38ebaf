/**
 * Checks credentials, with a cache: tenancy is requested about twice a minute for each credential, not for each request. The cache key is
 * a digest of credential and environment, so the memory of a gateway holds no key (cloud.md §4.4, §4.5).
 */
import { hash } from "node:crypto";
import { type Clock, LoadingCache, PerdureError } from "@perdure/base";
import { type Authentication, type EnvironmentId, parseApiKey, type Tenancy, type TenancyChange } from "@perdure/cloud";
import type { ClientAddress } from "./addresses.js";
import {
  CALLERS_MAX,
  LOOKUP_JITTER,
  LOOKUPS_MAX,
  NEGATIVE_TTL_MS,
  POSITIVE_TTL_MS,
  REFRESH_AFTER_MS,
  STALE_MS,
  UNKNOWN_ENTRIES_MAX,
} from "./limits.js";

/** `unknown` is already counted against the address. `throttled`: too many failures came from the address, so nothing is looked up. */
export type CallerCheck = Authentication | { readonly kind: "throttled" };

const UNKNOWN: CallerCheck = { kind: "unknown" };
const THROTTLED: CallerCheck = { kind: "throttled" };
const VALID = { ttlMs: POSITIVE_TTL_MS, refreshAfterMs: REFRESH_AFTER_MS, staleMs: STALE_MS };
const INVALID = { ttlMs: NEGATIVE_TTL_MS, isNegative: true };

export class Callers {
  readonly #tenancy: Tenancy;
  readonly #clock: Clock;
  readonly #cache: LoadingCache<string, Authentication>;

  constructor(tenancy: Tenancy, clock: Clock) {
    this.#tenancy = tenancy;
    this.#clock = clock;
    this.#cache = new LoadingCache<string, Authentication>({
      clock,
      entriesMax: CALLERS_MAX,
      negativeEntriesMax: UNKNOWN_ENTRIES_MAX,
      loadsMax: LOOKUPS_MAX,
      lifetimeOf: ({ kind }) => (kind === "caller" ? VALID : INVALID),
      jitter: LOOKUP_JITTER,
      overloaded: () => new PerdureError("TEN0001", "too many credentials are being checked"),
    });
  }

  get stats(): { readonly hits: number; readonly misses: number; readonly staleHits: number; readonly entries: number } {
    return { hits: this.#cache.hits, misses: this.#cache.misses, staleHits: this.#cache.staleHits, entries: this.#cache.size };
  }

  /** Synchronous on a cache hit. Rejects with TEN0001 when tenancy cannot be reached and the cache has no usable entry. */
  check(credential: string, environmentId: EnvironmentId, address: ClientAddress): CallerCheck | Promise<CallerCheck> {
    const digest = hash("sha256", `${credential}\n${environmentId}`, "binary");
    const load = (): Promise<Authentication> => this.#tenancy.authenticate(credential, environmentId);
    const cached = this.#cache.fresh(digest, load);
    if (cached?.kind === "caller") return this.#unlessExpired(cached, address);
    const nowMs = this.#clock.monotonicMs();
    // A credential that was valid lately is not a guess, whatever else comes from its address.
    if (!this.#cache.has(digest) && !address.mayLookUp(nowMs)) return THROTTLED;
    if (cached !== undefined) return counted(cached, address, nowMs);
    if (credential.startsWith("key_") && parseApiKey(credential) === undefined) return counted(UNKNOWN, address, nowMs);
    return this.#lookUp(digest, address, load);
  }

  applyChange(change: TenancyChange): void {
    switch (change.kind) {
      case "everything":
        return this.#cache.outdateAll();
      case "key":
      case "member":
        return this.#cache.evictWhere(
          (authentication) => authentication.kind === "caller" && authentication.caller.id === change.id,
        );
      default:
        return; // The event is not about credentials.
    }
  }

  async #lookUp(digest: string, address: ClientAddress, load: () => Promise<Authentication>): Promise<CallerCheck> {
    address.lookups++;
    try {
      const authentication = await this.#cache.load(digest, load);
      if (authentication.kind === "unknown")
        return address.unauthorized.overdraw(this.#clock.monotonicMs()) ? UNKNOWN : THROTTLED;
      return this.#unlessExpired(authentication, address);
    } finally {
      address.lookups--;
    }
  }

  /** Compared with the wall clock for each request: no change event announces that a key expires (cloud.md §4.5). */
  #unlessExpired(authentication: Authentication, address: ClientAddress): CallerCheck {
    if (authentication.kind !== "caller" || authentication.caller.expiresAtMs === undefined) return authentication;
    return authentication.caller.expiresAtMs > this.#clock.nowMs()
      ? authentication
      : counted(UNKNOWN, address, this.#clock.monotonicMs());
  }
}

/** Counts an unknown credential against the address when the answer needed no look-up. */
function counted(check: CallerCheck, address: ClientAddress, nowMs: number): CallerCheck {
  return check.kind !== "unknown" || address.unauthorized.take(nowMs) ? check : THROTTLED;
}
