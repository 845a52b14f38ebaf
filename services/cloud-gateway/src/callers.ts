/**
 * Why: every request shows a credential, and tenancy must hear of it twice a minute, not each time. Remembered by the digest of
 * credential and environment: the memory of a gateway holds no key (cloud.md §4.4, §4.5).
 */
import { hash } from "node:crypto";
import { type Clock, PerdureError } from "@perdure/base";
import { type Authentication, type EnvironmentId, parseApiKey, type Tenancy, type TenancyNews } from "@perdure/cloud";
import type { Address } from "./addresses.js";
import { FreshCache } from "./fresh-cache.js";
import { CALLERS_MAX, LOOKUPS_MAX, NEGATIVE_TTL_MS, POSITIVE_TTL_MS, STALE_MS, STRANGERS_MAX } from "./limits.js";

/** `unknown` is counted against the address already. `throttled`: too much that was wrong came from it, and it is not told more. */
export type Verdict = Authentication | { readonly kind: "throttled" };

const UNKNOWN: Verdict = { kind: "unknown" };
const THROTTLED: Verdict = { kind: "throttled" };
const KEPT = { ttlMs: POSITIVE_TTL_MS, staleMs: STALE_MS };
const NOT_KEPT = { ttlMs: 0, staleMs: 0 };

interface Stranger {
  readonly verdict: Verdict;
  readonly untilMs: number;
}

export class Callers {
  readonly #tenancy: Tenancy;
  readonly #clock: Clock;
  readonly #known: FreshCache<string, Authentication>;
  readonly #strangers = new Map<string, Stranger>();
  /** Rises with news about credentials: what was asked before may be older than them. */
  #newsCount = 0;

  constructor(tenancy: Tenancy, clock: Clock) {
    this.#tenancy = tenancy;
    this.#clock = clock;
    this.#known = new FreshCache<string, Authentication>({
      clock,
      entriesMax: CALLERS_MAX,
      loadsMax: LOOKUPS_MAX,
      freshness: (found) => (found.kind === "caller" ? KEPT : NOT_KEPT),
      overloaded: () => new PerdureError("TEN0001", "too many credentials are being checked"),
    });
  }

  get stats(): { readonly hits: number; readonly misses: number; readonly staleHits: number; readonly entries: number } {
    return { hits: this.#known.hits, misses: this.#known.misses, staleHits: this.#known.staleHits, entries: this.#known.size };
  }

  /** At once for what is known. Rejects with TEN0001 when tenancy cannot be reached and nothing recent is known. */
  check(credential: string, environmentId: EnvironmentId, address: Address): Verdict | Promise<Verdict> {
    const digest = hash("sha256", `${credential}\n${environmentId}`, "binary");
    const ask = (): Promise<Authentication> => this.#tenancy.authenticate(credential, environmentId);
    const known = this.#known.fresh(digest, ask);
    if (known !== undefined) return this.#unlessExpired(known, address);
    const nowMs = this.#clock.monotonicMs();
    // Whoever was let in lately is no guesser, whatever else comes from there.
    if (!this.#known.remembers(digest) && !address.mayLookUp(nowMs)) return THROTTLED;
    const stranger = this.#strangers.get(digest);
    if (stranger !== undefined && nowMs < stranger.untilMs) return counted(stranger.verdict, address, nowMs);
    if (credential.startsWith("key_") && parseApiKey(credential) === undefined) return counted(UNKNOWN, address, nowMs);
    return this.#lookUp(digest, address, ask);
  }

  heard(news: TenancyNews): void {
    switch (news.kind) {
      case "everything":
        this.#newsCount++;
        this.#strangers.clear();
        return this.#known.outdateAll();
      case "key":
      case "member":
        this.#newsCount++;
        this.#strangers.clear();
        return this.#known.forgetWhere((found) => found.kind === "caller" && found.caller.id === news.id);
      default:
        return; // Not about credentials.
    }
  }

  async #lookUp(digest: string, address: Address, ask: () => Promise<Authentication>): Promise<Verdict> {
    const newsCount = this.#newsCount;
    address.lookups++;
    try {
      const found = await this.#known.load(digest, ask);
      if (found.kind !== "caller" && newsCount === this.#newsCount) this.#rememberStranger(digest, found);
      if (found.kind === "unknown") return address.unauthorized.owe(this.#clock.monotonicMs()) ? UNKNOWN : THROTTLED;
      return this.#unlessExpired(found, address);
    } finally {
      address.lookups--;
    }
  }

  /** Against the wall clock, with each request: no news comes of a key that runs out (cloud.md §4.5). */
  #unlessExpired(found: Authentication, address: Address): Verdict {
    if (found.kind !== "caller" || found.caller.expiresAtMs === undefined) return found;
    return found.caller.expiresAtMs > this.#clock.nowMs() ? found : counted(UNKNOWN, address, this.#clock.monotonicMs());
  }

  #rememberStranger(digest: string, verdict: Verdict): void {
    if (this.#strangers.size >= STRANGERS_MAX) this.#strangers.delete(this.#strangers.keys().next().value as string);
    this.#strangers.set(digest, { verdict, untilMs: this.#clock.monotonicMs() + NEGATIVE_TTL_MS });
  }
}

/** Of one that is unknown without a look-up. */
function counted(verdict: Verdict, address: Address, nowMs: number): Verdict {
  return verdict.kind !== "unknown" || address.unauthorized.take(nowMs) ? verdict : THROTTLED;
}
