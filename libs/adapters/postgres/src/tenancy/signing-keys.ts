/** Keys that sign an environment's requests to services (cloud.md §3.5); private ones only sealed. */
import type { EnvironmentId } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

export interface SigningKeyRecord {
  readonly environmentId: EnvironmentId;
  /** `publickeyv1_…` */
  readonly publicKey: string;
  /** CURRENT signs, NEXT will, PREVIOUS did and is still accepted. */
  readonly state: "CURRENT" | "NEXT" | "PREVIOUS";
  /** Sealed PKCS#8 PEM; undefined when it was erased. */
  readonly privateKey: Uint8Array | undefined;
  readonly createdAtMs: number;
  readonly replacedAtMs: number | undefined;
}

const COLUMNS = `environment_id AS "environmentId", public_key AS "publicKey", state, private_key AS "privateKey",
  created_at_ms AS "createdAtMs", replaced_at_ms AS "replacedAtMs"`;
const ORDER = "CASE state WHEN 'CURRENT' THEN 0 WHEN 'NEXT' THEN 1 ELSE 2 END";

export class SigningKeysTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Throws `AlreadyThere` when the environment has one in this state. */
  async insert({ environmentId, publicKey, state, privateKey, createdAtMs }: SigningKeyRecord): Promise<void> {
    const text = `INSERT INTO perdure_signing_keys (environment_id, public_key, state, private_key, created_at_ms)
      VALUES ($1, $2, $3, $4, $5)`;
    await this.#session.write(text, [environmentId, publicKey, state, privateKey, createdAtMs]);
  }

  /** CURRENT, then NEXT, then PREVIOUS. */
  of(environmentId: EnvironmentId): Promise<SigningKeyRecord[]> {
    const text = `SELECT ${COLUMNS} FROM perdure_signing_keys WHERE environment_id = $1 ORDER BY ${ORDER}`;
    return this.#session.rows(text, [environmentId]);
  }

  /** Keys of all environments that are not deleted. */
  ofAll(): Promise<SigningKeyRecord[]> {
    const text = `SELECT ${COLUMNS} FROM perdure_signing_keys
      WHERE environment_id IN (SELECT id FROM perdure_environments WHERE status <> 'DELETED') ORDER BY ${ORDER}`;
    return this.#session.rows(text);
  }

  /** NEXT becomes CURRENT, CURRENT becomes PREVIOUS. Throws `AlreadyThere` when there is a PREVIOUS. */
  async promote(environmentId: EnvironmentId, nowMs: number): Promise<void> {
    await this.#session.write(
      "UPDATE perdure_signing_keys SET state = 'PREVIOUS', replaced_at_ms = $2 WHERE environment_id = $1 AND state = 'CURRENT'",
      [environmentId, nowMs],
    );
    await this.#session.write(
      "UPDATE perdure_signing_keys SET state = 'CURRENT', promoted_at_ms = $2 WHERE environment_id = $1 AND state = 'NEXT'",
      [environmentId, nowMs],
    );
  }

  async remove(publicKey: string): Promise<void> {
    await this.#session.write("DELETE FROM perdure_signing_keys WHERE public_key = $1", [publicKey]);
  }
}
