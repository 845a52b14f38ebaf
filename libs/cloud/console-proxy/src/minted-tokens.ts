/**
 * Mints access tokens for sessions of the console: gateways authenticate users by access tokens, and the page has none. A token is
 * short-lived and used for some minutes: gateways look up each new token, and cache it for half a minute.
 */
import { BoundedCache, type Clock, type Secret } from "@perdure/base";
import type { AccessTokens } from "@perdure/credentials";
import type { SessionRecord } from "@perdure/postgres";
import { MINTED_TOKEN_SECONDS, MINTED_TOKENS_MAX } from "./limits.js";

export class MintedTokens {
  readonly #tokens: AccessTokens;
  readonly #bySession: BoundedCache<string, Secret>;

  constructor(tokens: AccessTokens, clock: Clock) {
    this.#tokens = tokens;
    const expiry = { clock, ttlMs: (MINTED_TOKEN_SECONDS * 1_000) / 2 };
    this.#bySession = new BoundedCache({ entriesMax: MINTED_TOKENS_MAX, expiry });
  }

  /** The caller has checked that the session is active; gateways check it again. */
  async of({ id, userId }: SessionRecord): Promise<Secret> {
    const minted = this.#bySession.get(id);
    if (minted !== undefined) return minted;
    const { token } = await this.#tokens.issue(userId, id, MINTED_TOKEN_SECONDS);
    this.#bySession.set(id, token);
    return token;
  }
}
