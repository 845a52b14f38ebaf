/** Credentials and logins of users: passwords, identities at providers, sessions, refresh tokens. */
import type { UserId } from "@perdure/cloud";
import { PURGED_AT_ONCE, SESSION_KEPT_MS } from "../limits.js";
import type { SqlSession } from "./session.js";

export interface SessionRecord {
  /** `session_` and characters of base 62; the `sid` of access tokens. */
  readonly id: string;
  readonly userId: UserId;
  readonly kind: "browser" | "device";
  readonly label: string;
  readonly remoteAddress: string | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly endedAtMs: number | undefined;
  /** Time of the last proof of identity, by signing in or on request; undefined for devices. */
  readonly confirmedAtMs: number | undefined;
}

const SESSION = `s.id, s.user_id AS "userId", s.kind, s.label, s.remote_address AS "remoteAddress", s.created_at_ms AS "createdAtMs",
  s.expires_at_ms AS "expiresAtMs", s.ended_at_ms AS "endedAtMs", s.confirmed_at_ms AS "confirmedAtMs"`;

export class LoginsTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  // ── passwords and identities ───────────────────────────────────────────────────────────────────

  async password(userId: UserId): Promise<string | undefined> {
    const text = "SELECT hash FROM perdure_passwords WHERE user_id = $1";
    return (await this.#session.row<{ hash: string }>(text, [userId]))?.hash;
  }

  async setPassword(userId: UserId, hash: string, nowMs: number): Promise<void> {
    const text = `INSERT INTO perdure_passwords VALUES ($1, $2, $3)
      ON CONFLICT (user_id) DO UPDATE SET hash = $2, changed_at_ms = $3`;
    await this.#session.write(text, [userId, hash, nowMs]);
  }

  async userOfIdentity(issuer: string, subject: string): Promise<UserId | undefined> {
    const text = `SELECT user_id AS "userId" FROM perdure_identities WHERE issuer = $1 AND subject = $2`;
    return (await this.#session.row<{ userId: UserId }>(text, [issuer, subject]))?.userId;
  }

  /** Throws `AlreadyThere` when it is linked to a user. */
  async link(issuer: string, subject: string, userId: UserId, nowMs: number): Promise<void> {
    await this.#session.write("INSERT INTO perdure_identities VALUES ($1, $2, $3, $4)", [issuer, subject, userId, nowMs]);
  }

  // ── sessions ───────────────────────────────────────────────────────────────────────────────────

  /** Removes some that ended long ago, with their refresh tokens. */
  async begin(session: Omit<SessionRecord, "endedAtMs">, cookieHash: Uint8Array | undefined): Promise<void> {
    const { id, userId, kind, label, remoteAddress, createdAtMs, expiresAtMs, confirmedAtMs } = session;
    const purge = `DELETE FROM perdure_sessions WHERE id = ANY (ARRAY(
      SELECT id FROM perdure_sessions WHERE expires_at_ms < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`;
    await this.#session.write(purge, [createdAtMs - SESSION_KEPT_MS, PURGED_AT_ONCE]);
    const values = [id, userId, kind, label, remoteAddress, cookieHash, createdAtMs, expiresAtMs, confirmedAtMs];
    await this.#session.write("INSERT INTO perdure_sessions VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, $9)", values);
  }

  /** The session of a cookie, unless it is over. */
  ofCookie(cookieHash: Uint8Array, nowMs: number): Promise<SessionRecord | undefined> {
    const text = `SELECT ${SESSION} FROM perdure_sessions s WHERE cookie_hash = $1 AND ended_at_ms IS NULL AND expires_at_ms > $2`;
    return this.#session.row(text, [cookieHash, nowMs]);
  }

  /** Sessions that are not over, newest first, at most `limit`. */
  sessionsOf(userId: UserId, nowMs: number, limit: number): Promise<SessionRecord[]> {
    const text = `SELECT ${SESSION} FROM perdure_sessions s
      WHERE user_id = $1 AND ended_at_ms IS NULL AND expires_at_ms > $2 ORDER BY created_at_ms DESC, id LIMIT $3`;
    return this.#session.rows(text, [userId, nowMs, limit]);
  }

  /** The user of the session has just proved their identity. False when the session is over, or belongs to another user. */
  async confirmed(id: string, userId: UserId, nowMs: number): Promise<boolean> {
    const text = "UPDATE perdure_sessions SET confirmed_at_ms = $3 WHERE id = $1 AND user_id = $2 AND ended_at_ms IS NULL";
    return (await this.#session.write(text, [id, userId, nowMs])) === 1;
  }

  /** Ends a session, so that its tokens are refused. Returns undefined when it was over already, or belongs to another user. */
  end(id: string, userId: UserId, nowMs: number): Promise<SessionRecord | undefined> {
    const text = `UPDATE perdure_sessions s SET ended_at_ms = $3 WHERE id = $1 AND user_id = $2 AND ended_at_ms IS NULL
      RETURNING ${SESSION}`;
    return this.#session.row(text, [id, userId, nowMs]);
  }

  /** Ends all sessions of the user, so that knowledge of an old password is of no use. Returns their number. */
  endAll(userId: UserId, nowMs: number): Promise<number> {
    const text = "UPDATE perdure_sessions SET ended_at_ms = $2 WHERE user_id = $1 AND ended_at_ms IS NULL AND expires_at_ms > $2";
    return this.#session.write(text, [userId, nowMs]);
  }

  /** Ends the oldest ones of a kind until at most `max` are left. */
  async endOldest(userId: UserId, kind: SessionRecord["kind"], max: number, nowMs: number): Promise<number> {
    const text = `UPDATE perdure_sessions SET ended_at_ms = $3 WHERE id = ANY (ARRAY(
      SELECT id FROM perdure_sessions WHERE user_id = $1 AND kind = $2 AND ended_at_ms IS NULL AND expires_at_ms > $3
      ORDER BY created_at_ms DESC, id OFFSET $4))`;
    return await this.#session.write(text, [userId, kind, nowMs, max]);
  }

  /** The ids among these whose sessions are not over. */
  async living(ids: readonly string[], nowMs: number): Promise<string[]> {
    const text = "SELECT id FROM perdure_sessions WHERE id = ANY ($1) AND ended_at_ms IS NULL AND expires_at_ms > $2";
    return (await this.#session.rows<{ id: string }>(text, [ids, nowMs])).map(({ id }) => id);
  }

  async isEnded(id: string): Promise<boolean> {
    const text = "SELECT id FROM perdure_sessions WHERE id = $1 AND ended_at_ms IS NOT NULL";
    return (await this.#session.row(text, [id])) !== undefined;
  }

  // ── refresh tokens ─────────────────────────────────────────────────────────────────────────────

  async addRefreshToken(tokenHash: Uint8Array, sessionId: string, nowMs: number): Promise<void> {
    await this.#session.write("INSERT INTO perdure_refresh_tokens VALUES ($1, $2, $3)", [tokenHash, sessionId, nowMs]);
  }

  /** Returns a refresh token with its session, which no other transaction changes until this one ends. */
  async lockRefreshToken(
    tokenHash: Uint8Array,
  ): Promise<{ readonly session: SessionRecord; readonly isUsed: boolean } | undefined> {
    const text = `SELECT ${SESSION} FROM perdure_refresh_tokens t JOIN perdure_sessions s ON s.id = t.session_id
      WHERE t.token_hash = $1 FOR UPDATE OF s`;
    const session = await this.#session.row<SessionRecord>(text, [tokenHash]);
    if (session === undefined) return undefined;
    // Read again: the value from before the lock may have changed.
    const used = "SELECT token_hash FROM perdure_refresh_tokens WHERE token_hash = $1 AND used_at_ms IS NOT NULL";
    return { session, isUsed: (await this.#session.row(used, [tokenHash])) !== undefined };
  }

  async useRefreshToken(tokenHash: Uint8Array, nowMs: number): Promise<void> {
    await this.#session.write("UPDATE perdure_refresh_tokens SET used_at_ms = $2 WHERE token_hash = $1", [tokenHash, nowMs]);
  }
}
