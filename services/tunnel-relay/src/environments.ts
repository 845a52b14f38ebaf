/** Cached facts of environments with their signing keys, and the environment that a runtime's token belongs to. */
import { hash } from "node:crypto";
import { type Clock, PerdureError } from "@perdure/base";
import {
  type BareEnvironmentId,
  bareOf,
  type EnvironmentFacts,
  type EnvironmentId,
  type Tenancy,
  type TenancyChange,
} from "@perdure/cloud";
import { IdentityVerifier } from "@perdure/tunnel";
import { BriefCache } from "./brief-cache.js";
import { CACHED_MS, ENVIRONMENTS_MAX, LOOKUPS_MAX, TOKENS_MAX, UNKNOWN_MS } from "./limits.js";

export interface RelayEnvironment {
  readonly facts: EnvironmentFacts;
  readonly verifier: IdentityVerifier;
}

/** Longer tokens are not looked up. The cache is keyed by the digest of a token. */
const TOKEN_CHARS_MAX = 512;

const BOUNDS = {
  loadsMax: LOOKUPS_MAX,
  overloaded: () => new PerdureError("TEN0001", "too many look-ups of callers are in progress; retry later"),
  isUnknown: (cached: unknown) => cached === "unknown",
};

export class RelayEnvironments {
  readonly #environments: BriefCache<BareEnvironmentId, RelayEnvironment | "unknown">;
  readonly #runtimes: BriefCache<string, EnvironmentId | "unknown">;
  readonly #pendingTokens = new Map<string, string>();

  constructor(tenancy: Tenancy, clock: Clock) {
    this.#environments = new BriefCache<BareEnvironmentId, RelayEnvironment | "unknown">({
      clock,
      entriesMax: ENVIRONMENTS_MAX,
      ...BOUNDS,
      validMs: (cached) => (cached === "unknown" ? UNKNOWN_MS : CACHED_MS),
      load: async (bare) => {
        const facts = await tenancy.environment(bare);
        return facts === undefined ? "unknown" : { facts, verifier: new IdentityVerifier(facts.signingPublicKeys, clock) };
      },
    });
    this.#runtimes = new BriefCache<string, EnvironmentId | "unknown">({
      clock,
      entriesMax: TOKENS_MAX,
      ...BOUNDS,
      validMs: (cached) => (cached === "unknown" ? UNKNOWN_MS : CACHED_MS),
      load: async (digest) => {
        const token = this.#pendingTokens.get(digest);
        if (token === undefined) throw new PerdureError("OPS0003", "the look-up of this token has ended");
        return (await tenancy.runtimeOf(token)) ?? "unknown";
      },
    });
  }

  /** The result itself when it is cached, else a promise that rejects with TEN0001. */
  find(bare: BareEnvironmentId): RelayEnvironment | "unknown" | Promise<RelayEnvironment | "unknown"> {
    return this.#environments.peek(bare) ?? this.#environments.get(bare);
  }

  /** The environment whose runtime has this token. The promise rejects with TEN0001. */
  runtimeOf(token: string): EnvironmentId | "unknown" | Promise<EnvironmentId | "unknown"> {
    if (token === "" || token.length > TOKEN_CHARS_MAX) return "unknown";
    const digest = hash("sha256", token, "base64");
    return this.#runtimes.peek(digest) ?? this.#lookUp(digest, token);
  }

  applyChange(change: TenancyChange): void {
    if (change.kind === "everything") {
      this.#environments.evictAll();
      this.#runtimes.evictAll();
    } else if (change.kind === "environment") {
      this.#environments.evict(bareOf(change.id));
      this.#runtimes.evictAll(); // The environment may be deleted, and its runtime's token with it.
    }
  }

  /** Keeps the token itself only while its look-up is in progress. */
  async #lookUp(digest: string, token: string): Promise<EnvironmentId | "unknown"> {
    this.#pendingTokens.set(digest, token);
    try {
      return await this.#runtimes.get(digest);
    } finally {
      this.#pendingTokens.delete(digest);
    }
  }
}
