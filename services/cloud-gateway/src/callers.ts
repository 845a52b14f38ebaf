/**
 * Checks credentials, with a cache: tenancy is requested about twice a minute for each credential, not for each request. The cache key is
 * a digest of credential and environment, so the memory of a gateway holds no key (cloud.md §4.4, §4.5).
 */
import { hash } from "node:crypto";
import { type Clock, PerdureError } from "@perdure/base";
import { type Authentication, type EnvironmentId, parseApiKey, type Tenancy, type TenancyChange } from "@perdure/cloud";
import type { ClientAddress } from "./addresses.js";
import { FreshCache } from "./fresh-cache.js";
import { CALLERS_MAX, LOOKUPS_MAX, NEGATIVE_TTL_MS, POSITIVE_TTL_MS, STALE_MS, UNKNOWN_ENTRIES_MAX } from "./limits.js";

/** `unknown` is already counted against the address. `throttled`: too many failures came from the address, so nothing is looked up. */
export type CallerCheck = Authentication | { readonly kind: "throttled" };

const UNKNOWN: CallerCheck = { kind: "unknown" };
const THROTTLED: CallerCheck = { kind: "throttled" };
const KEPT = { ttlMs: POSITIVE_TTL_MS, staleMs: STALE_MS };
const NOT_KEPT = { ttlMs: 0, staleMs: 0 };

interface UnknownCredential {
  readonly check: CallerCheck;
  readonly untilMs: number;
}

export class Callers {
  readonly #tenancy: Tenancy;
  readonly #clock: Clock;
  readonly #cache: FreshCache<string, Authentication>;
  readonly #unknownCredentials = new Map<string, UnknownCredential>();
  /** Rises with each change event about credentials: an answer that was requested earlier may be outdated. */
  #changeCount = 0;

  constructor(tenancy: Tenancy, clock: Clock) {
    this.#tenancy = tenancy;
    this.#clock = clock;
    this.#cache = new FreshCache<string, Authentication>({
      clock,
      entriesMax: CALLERS_MAX,
      loadsMax: LOOKUPS_MAX,
      freshness: (authentication) => (authentication.kind === "caller" ? KEPT : NOT_KEPT),
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
    if (cached !== undefined) return this.#unlessExpired(cached, address);
    const nowMs = this.#clock.monotonicMs();
    // A credential that was valid lately is no guess, whatever else comes from its address.
    if (!this.#cache.remembers(digest) && !address.mayLookUp(nowMs)) return THROTTLED;
    const entry = this.#unknownCredentials.get(digest);
    if (entry !== undefined && nowMs < entry.untilMs) return counted(entry.check, address, nowMs);
    if (credential.startsWith("key_") && parseApiKey(credential) === undefined) return counted(UNKNOWN, address, nowMs);
    return this.#lookUp(digest, address, load);
  }

  applyChange(change: TenancyChange): void {
    switch (change.kind) {
      case "everything":
        this.#changeCount++;
        this.#unknownCredentials.clear();
        return this.#cache.outdateAll();
      case "key":
      case "member":
        this.#changeCount++;
        this.#unknownCredentials.clear();
        return this.#cache.evictWhere(
          (authentication) => authentication.kind === "caller" && authentication.caller.id === change.id,
        );
      default:
        return; // The event is not about credentials.
    }
  }

  async #lookUp(digest: string, address: ClientAddress, load: () => Promise<Authentication>): Promise<CallerCheck> {
    const changeCount = this.#changeCount;
    address.lookups++;
    try {
      const authentication = await this.#cache.load(digest, load);
      if (authentication.kind !== "caller" && changeCount === this.#changeCount) this.#rememberUnknown(digest, authentication);
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

  #rememberUnknown(digest: string, check: CallerCheck): void {
    if (this.#unknownCredentials.size >= UNKNOWN_ENTRIES_MAX)
      this.#unknownCredentials.delete(this.#unknownCredentials.keys().next().value as string);
    this.#unknownCredentials.set(digest, { check, untilMs: this.#clock.monotonicMs() + NEGATIVE_TTL_MS });
  }
}

/** Counts an unknown credential against the address when the answer needed no look-up. */
function counted(check: CallerCheck, address: ClientAddress, nowMs: number): CallerCheck {
  return check.kind !== "unknown" || address.unauthorized.take(nowMs) ? check : THROTTLED;
}
