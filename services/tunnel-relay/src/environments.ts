/** Cached facts of environments with their signing keys, and the environment that a runtime's token belongs to. */
import { hash } from "node:crypto";
import { type Clock, LoadingCache, PerdureError } from "@perdure/base";
import {
  type BareEnvironmentId,
  bareOf,
  type EnvironmentFacts,
  type EnvironmentId,
  type Tenancy,
  type TenancyChange,
} from "@perdure/cloud";
import { IdentityVerifier } from "@perdure/tunnel";
import { CACHED_JITTER, CACHED_MS, ENVIRONMENTS_MAX, LOOKUPS_MAX, TOKENS_MAX, UNKNOWN_MS } from "./limits.js";

export interface RelayEnvironment {
  readonly facts: EnvironmentFacts;
  readonly verifier: IdentityVerifier;
}

/** Longer tokens are not looked up. The cache is keyed by the digest of a token. */
const TOKEN_CHARS_MAX = 512;

const CACHED = { ttlMs: CACHED_MS };
const UNKNOWN = { ttlMs: UNKNOWN_MS, isNegative: true };

export class RelayEnvironments {
  readonly #tenancy: Tenancy;
  readonly #clock: Clock;
  readonly #environments: LoadingCache<BareEnvironmentId, RelayEnvironment | "unknown">;
  readonly #runtimes: LoadingCache<string, EnvironmentId | "unknown">;

  constructor(tenancy: Tenancy, clock: Clock) {
    this.#tenancy = tenancy;
    this.#clock = clock;
    this.#environments = cacheOf<BareEnvironmentId, RelayEnvironment>(clock, ENVIRONMENTS_MAX);
    this.#runtimes = cacheOf<string, EnvironmentId>(clock, TOKENS_MAX);
  }

  /** The result itself when it is cached, else a promise that rejects with TEN0001. */
  find(bare: BareEnvironmentId): RelayEnvironment | "unknown" | Promise<RelayEnvironment | "unknown"> {
    return this.#environments.get(bare, async () => {
      const facts = await this.#tenancy.environment(bare);
      if (facts === undefined) return "unknown";
      return { facts, verifier: new IdentityVerifier(facts.signingPublicKeys, this.#clock) };
    });
  }

  /** The environment whose runtime has this token. The promise rejects with TEN0001. */
  runtimeOf(token: string): EnvironmentId | "unknown" | Promise<EnvironmentId | "unknown"> {
    if (token === "" || token.length > TOKEN_CHARS_MAX) return "unknown";
    const digest = hash("sha256", token, "base64");
    return this.#runtimes.get(digest, async () => (await this.#tenancy.runtimeOf(token)) ?? "unknown");
  }

  applyChange(change: TenancyChange): void {
    if (change.kind === "everything") {
      this.#environments.clear();
      this.#runtimes.clear();
    } else if (change.kind === "environment") {
      this.#environments.evict(bareOf(change.id));
      this.#runtimes.clear(); // The environment may be deleted, and its runtime's token with it.
    }
  }
}

function cacheOf<K, V>(clock: Clock, entriesMax: number): LoadingCache<K, V | "unknown"> {
  return new LoadingCache<K, V | "unknown">({
    clock,
    entriesMax,
    negativeEntriesMax: entriesMax,
    loadsMax: LOOKUPS_MAX,
    overloaded: () => new PerdureError("TEN0001", "too many look-ups of callers are in progress; retry later"),
    lifetimeOf: (cached) => (cached === "unknown" ? UNKNOWN : CACHED),
    jitter: CACHED_JITTER,
  });
}
