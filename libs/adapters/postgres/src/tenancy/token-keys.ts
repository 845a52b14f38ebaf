/** Keys that sign access tokens of users (cloud.md §1.2); private ones only sealed. */
import type { SqlSession } from "./session.js";

export interface TokenKeyRecord {
  readonly kid: string;
  /** SPKI PEM. */
  readonly publicKey: string;
  /** Sealed PKCS#8 PEM. */
  readonly privateKey: Uint8Array;
  readonly createdAtMs: number;
  readonly signsFromMs: number;
}

export class TokenKeysTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Other transactions that add or remove keys wait until this transaction ends. */
  async lock(): Promise<void> {
    await this.#session.write("SELECT pg_advisory_xact_lock(hashtextextended('perdure token keys', 0))");
  }

  /** All keys, by the time from which they sign. */
  all(): Promise<TokenKeyRecord[]> {
    const text = `SELECT kid, public_key AS "publicKey", private_key AS "privateKey", created_at_ms AS "createdAtMs",
      signs_from_ms AS "signsFromMs" FROM perdure_token_keys ORDER BY signs_from_ms, kid`;
    return this.#session.rows(text);
  }

  async insert({ kid, publicKey, privateKey, createdAtMs, signsFromMs }: TokenKeyRecord): Promise<void> {
    const values = [kid, publicKey, privateKey, createdAtMs, signsFromMs];
    await this.#session.write("INSERT INTO perdure_token_keys VALUES ($1, $2, $3, $4, $5)", values);
  }

  /** Stores the key sealed with another key; false when another process was faster. */
  async resealed(kid: string, from: Uint8Array, to: Uint8Array): Promise<boolean> {
    const text = "UPDATE perdure_token_keys SET private_key = $3 WHERE kid = $1 AND private_key = $2";
    return (await this.#session.write(text, [kid, from, to])) > 0;
  }

  async remove(kid: string): Promise<void> {
    await this.#session.write("DELETE FROM perdure_token_keys WHERE kid = $1", [kid]);
  }
}
