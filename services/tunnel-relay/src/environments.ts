/** Why: what the relay knows of environments (who they are, who signs for them), and whose runtime a token belongs to. */
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

/** Tokens are remembered by their digest. */
const TOKEN_CHARS_MAX = 512;

const BOUNDS = {
  loadsMax: LOOKUPS_MAX,
  overloaded: () => new PerdureError("TEN0001", "too many callers are being looked up"),
  isUnknown: (cached: unknown) => cached === "nobody",
};

export class RelayEnvironments {
  readonly #environments: BriefCache<BareEnvironmentId, RelayEnvironment | "nobody">;
  readonly #runtimes: BriefCache<string, EnvironmentId | "nobody">;
  readonly #pendingTokens = new Map<string, string>();

  constructor(tenancy: Tenancy, clock: Clock) {
    this.#environments = new BriefCache<BareEnvironmentId, RelayEnvironment | "nobody">({
      clock,
      entriesMax: ENVIRONMENTS_MAX,
      ...BOUNDS,
      believedMs: (cached) => (cached === "nobody" ? UNKNOWN_MS : CACHED_MS),
      load: async (bare) => {
        const facts = await tenancy.environment(bare);
        return facts === undefined ? "nobody" : { facts, verifier: new IdentityVerifier(facts.signingPublicKeys, clock) };
      },
    });
    this.#runtimes = new BriefCache<string, EnvironmentId | "nobody">({
      clock,
      entriesMax: TOKENS_MAX,
      ...BOUNDS,
      believedMs: (cached) => (cached === "nobody" ? UNKNOWN_MS : CACHED_MS),
      load: async (digest) => {
        const token = this.#pendingTokens.get(digest);
        if (token === undefined) throw new PerdureError("OPS0003", "nobody asks for this token any more");
        return (await tenancy.runtimeOf(token)) ?? "nobody";
      },
    });
  }

  /** At once for what is known. Rejects with TEN0001. */
  find(bare: BareEnvironmentId): RelayEnvironment | "nobody" | Promise<RelayEnvironment | "nobody"> {
    return this.#environments.peek(bare) ?? this.#environments.get(bare);
  }

  /** Whose runtime shows this token. Rejects with TEN0001. */
  runtimeOf(token: string): EnvironmentId | "nobody" | Promise<EnvironmentId | "nobody"> {
    if (token === "" || token.length > TOKEN_CHARS_MAX) return "nobody";
    const digest = hash("sha256", token, "base64");
    return this.#runtimes.peek(digest) ?? this.#lookUp(digest, token);
  }

  applyChange(change: TenancyChange): void {
    if (change.kind === "everything") {
      this.#environments.evictAll();
      this.#runtimes.evictAll();
    } else if (change.kind === "environment") {
      this.#environments.evict(bareOf(change.id));
      this.#runtimes.evictAll(); // It may be gone, and its runtime with it.
    }
  }

  /** The token itself is held only while it is being asked about. */
  async #lookUp(digest: string, token: string): Promise<EnvironmentId | "nobody"> {
    this.#pendingTokens.set(digest, token);
    try {
      return await this.#runtimes.get(digest);
    } finally {
      this.#pendingTokens.delete(digest);
    }
  }
}
