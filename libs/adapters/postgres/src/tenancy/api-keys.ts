/** API keys: the hash of their secret, never the secret (cloud.md §4.3). */
import type { AccountId, ApiKeyId, EnvironmentId, KeyRole, UserId } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

export interface ApiKeyRecord {
  readonly id: ApiKeyId;
  readonly environmentId: EnvironmentId;
  readonly accountId: AccountId;
  readonly role: KeyRole;
  readonly secretHash: Uint8Array;
  readonly pepperVersion: number;
  readonly description: string | undefined;
  readonly createdBy: UserId;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  /** Requests per second that it alone may make; undefined: as many as its environment. */
  readonly ratePerSecond: number | undefined;
  readonly lastUsedAtMs: number | undefined;
  readonly deletedAtMs: number | undefined;
}

const COLUMNS = `id, environment_id AS "environmentId", account_id AS "accountId", role, secret_hash AS "secretHash",
  pepper_version AS "pepperVersion", description, created_by AS "createdBy", created_at_ms AS "createdAtMs",
  expires_at_ms AS "expiresAtMs", rate_per_second AS "ratePerSecond", last_used_at_ms AS "lastUsedAtMs", deleted_at_ms AS "deletedAtMs"`;

export class ApiKeysTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  async insert(key: ApiKeyRecord): Promise<void> {
    const text = `INSERT INTO perdure_api_keys (id, environment_id, account_id, role, secret_hash, pepper_version, description,
      created_by, created_at_ms, expires_at_ms, rate_per_second) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
    const { id, environmentId, accountId, role, secretHash, pepperVersion, description } = key;
    const { createdBy, createdAtMs, expiresAtMs, ratePerSecond } = key;
    const values = [
      id,
      environmentId,
      accountId,
      role,
      secretHash,
      pepperVersion,
      description,
      createdBy,
      createdAtMs,
      expiresAtMs,
      ratePerSecond,
    ];
    await this.#session.write(text, values);
  }

  /** Deleted ones too. */
  get(id: ApiKeyId): Promise<ApiKeyRecord | undefined> {
    return this.#session.row(`SELECT ${COLUMNS} FROM perdure_api_keys WHERE id = $1`, [id]);
  }

  /** Keys that are not deleted, oldest first. */
  of(environmentId: EnvironmentId): Promise<ApiKeyRecord[]> {
    const text = `SELECT ${COLUMNS} FROM perdure_api_keys WHERE environment_id = $1 AND deleted_at_ms IS NULL ORDER BY created_at_ms, id`;
    return this.#session.rows(text, [environmentId]);
  }

  /** Valid keys that this member created, in all environments of the account, oldest first. */
  madeBy(accountId: AccountId, userId: UserId, nowMs: number): Promise<ApiKeyRecord[]> {
    const text = `SELECT ${COLUMNS} FROM perdure_api_keys WHERE account_id = $1 AND created_by = $2 AND deleted_at_ms IS NULL
      AND (expires_at_ms IS NULL OR expires_at_ms > $3) ORDER BY created_at_ms, id`;
    return this.#session.rows(text, [accountId, userId, nowMs]);
  }

  /** False when it was deleted before. */
  async delete(id: ApiKeyId, environmentId: EnvironmentId, nowMs: number): Promise<boolean> {
    const text = "UPDATE perdure_api_keys SET deleted_at_ms = $3 WHERE id = $1 AND environment_id = $2 AND deleted_at_ms IS NULL";
    const isDeleted = (await this.#session.write(text, [id, environmentId, nowMs])) > 0;
    if (isDeleted) await this.#session.notify({ kind: "key", id, environmentId });
    return isDeleted;
  }

  /** Answers how many that were. */
  async deleteAll(environmentId: EnvironmentId, nowMs: number): Promise<number> {
    const keys = await this.of(environmentId);
    for (const { id } of keys) await this.delete(id, environmentId, nowMs);
    return keys.length;
  }

  /** The hash of the same secret with another pepper. */
  async rehashed(id: ApiKeyId, secretHash: Uint8Array, pepperVersion: number): Promise<void> {
    const text = "UPDATE perdure_api_keys SET secret_hash = $2, pepper_version = $3 WHERE id = $1 AND pepper_version < $3";
    await this.#session.write(text, [id, secretHash, pepperVersion]);
  }

  /** Valid keys whose hash uses an older pepper. */
  async countOlder(pepperVersion: number): Promise<number> {
    const text = "SELECT count(*) AS count FROM perdure_api_keys WHERE deleted_at_ms IS NULL AND pepper_version < $1";
    return (await this.#session.row<{ count: number }>(text, [pepperVersion]))?.count ?? 0;
  }

  /** Written only when the stored time is older than `everyMs`. */
  async used(id: ApiKeyId, nowMs: number, everyMs: number): Promise<void> {
    const text =
      "UPDATE perdure_api_keys SET last_used_at_ms = $2 WHERE id = $1 AND coalesce(last_used_at_ms, 0) < $2::bigint - $3::bigint";
    await this.#session.write(text, [id, nowMs, everyMs]);
  }
}
