/**
 * Mints access tokens for sessions of the console: gateways authenticate users by access tokens, and the page has none. A token is
 * short-lived and used for some minutes: gateways look up each new token, and cache it for half a minute.
 */
import type { Clock, Secret } from "@perdure/base";
import type { AccessTokens } from "@perdure/credentials";
import type { SessionRecord } from "@perdure/postgres";
import { MINTED_TOKEN_SECONDS, MINTED_TOKENS_MAX } from "./limits.js";

interface Minted {
  readonly token: Secret;
  readonly usedUntilMs: number;
}

export class MintedTokens {
  readonly #tokens: AccessTokens;
  readonly #clock: Clock;
  /** By session, the oldest first. */
  readonly #bySession = new Map<string, Minted>();

  constructor(tokens: AccessTokens, clock: Clock) {
    this.#tokens = tokens;
    this.#clock = clock;
  }

  /** The caller has checked that the session is active; gateways check it again. */
  async of({ id, userId }: SessionRecord): Promise<Secret> {
    const nowMs = this.#clock.nowMs();
    const minted = this.#bySession.get(id);
    if (minted !== undefined && minted.usedUntilMs > nowMs) return minted.token;
    const { token } = await this.#tokens.issue(userId, id, MINTED_TOKEN_SECONDS);
    this.#bySession.delete(id);
    for (const oldest of this.#bySession.keys()) {
      if (this.#bySession.size < MINTED_TOKENS_MAX) break;
      this.#bySession.delete(oldest);
    }
    this.#bySession.set(id, { token, usedUntilMs: nowMs + (MINTED_TOKEN_SECONDS * 1_000) / 2 });
    return token;
  }
}
