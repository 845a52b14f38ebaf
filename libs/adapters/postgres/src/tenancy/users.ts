/** Users. Their credentials are in `logins.ts`. */
import type { UserId } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

interface UserRecord {
  readonly id: UserId;
  readonly email: string;
  readonly name: string | undefined;
  readonly createdAtMs: number;
  /** Time at which the user proved to own the address; undefined or missing without a proof. */
  readonly emailVerifiedAtMs?: number | undefined;
}

const COLUMNS = `id, email, name, created_at_ms AS "createdAtMs", email_verified_at_ms AS "emailVerifiedAtMs"`;

export class UsersTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Throws `AlreadyThere` when a user with the address exists. */
  async insert({ id, email, name, createdAtMs, emailVerifiedAtMs }: UserRecord): Promise<void> {
    const values = [id, email, name, createdAtMs, emailVerifiedAtMs];
    await this.#session.write("INSERT INTO perdure_users VALUES ($1, $2, $3, $4, $5)", values);
  }

  /** Marks the address as verified; changes nothing when the user has another address by now. */
  async verified(id: UserId, email: string, nowMs: number): Promise<void> {
    const text = `UPDATE perdure_users SET email_verified_at_ms = coalesce(email_verified_at_ms, $3)
      WHERE id = $1 AND lower(email) = lower($2)`;
    await this.#session.write(text, [id, email, nowMs]);
  }

  get(id: UserId): Promise<UserRecord | undefined> {
    return this.#session.row(`SELECT ${COLUMNS} FROM perdure_users WHERE id = $1`, [id]);
  }

  /** Compares the address without regard to case. */
  ofEmail(email: string): Promise<UserRecord | undefined> {
    return this.#session.row(`SELECT ${COLUMNS} FROM perdure_users WHERE lower(email) = lower($1)`, [email]);
  }
}
