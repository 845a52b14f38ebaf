/** Mail to be sent, links in mail that work once, and notices that were sent already. */
import type { UserId } from "@perdure/cloud";
import { PURGED_AT_ONCE } from "../limits.js";
import type { SqlSession } from "./session.js";

/** `verify`: that an address is theirs. `reset`: a new password. */
export type MailTokenKind = "verify" | "reset";

interface MailToken {
  readonly userId: UserId;
  readonly email: string;
}

interface WaitingMail {
  readonly id: number;
  readonly sealed: Uint8Array;
  readonly createdAtMs: number;
  /** Number of attempts, this one included. */
  readonly tries: number;
}

export class MailsTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  async put(sealed: Uint8Array, nowMs: number): Promise<void> {
    await this.#session.write("INSERT INTO perdure_mails (sealed, created_at_ms, due_at_ms) VALUES ($1, $2, $2)", [
      sealed,
      nowMs,
    ]);
  }

  /** Returns the number of waiting mails. */
  async count(): Promise<number> {
    return (await this.#session.row<{ count: number }>("SELECT count(*) AS count FROM perdure_mails"))?.count ?? 0;
  }

  /** Due mail, oldest first; no other process gets it before `againAtMs`. */
  take(limit: number, nowMs: number, againAtMs: number): Promise<WaitingMail[]> {
    const text = `UPDATE perdure_mails SET tries = tries + 1, due_at_ms = $3 WHERE id = ANY (ARRAY(
        SELECT id FROM perdure_mails WHERE due_at_ms <= $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
      RETURNING id, sealed, created_at_ms AS "createdAtMs", tries`;
    return this.#session.rows(text, [nowMs, limit, againAtMs]);
  }

  async later(id: number, dueAtMs: number): Promise<void> {
    await this.#session.write("UPDATE perdure_mails SET due_at_ms = $2 WHERE id = $1", [id, dueAtMs]);
  }

  /** Sent, or given up. */
  async remove(id: number): Promise<void> {
    await this.#session.write("DELETE FROM perdure_mails WHERE id = $1", [id]);
  }

  // ── links ──────────────────────────────────────────────────────────────────────────────────────

  /** Older ones of the kind work no more: the newest mail counts. Removes some that are over. */
  async addToken(hash: Uint8Array, kind: MailTokenKind, { userId, email }: MailToken, nowMs: number, expiresAtMs: number) {
    const purge = `DELETE FROM perdure_mail_tokens WHERE token_hash = ANY (ARRAY(
      SELECT token_hash FROM perdure_mail_tokens WHERE expires_at_ms < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`;
    await this.#session.write(purge, [nowMs, PURGED_AT_ONCE]);
    await this.#session.write("DELETE FROM perdure_mail_tokens WHERE user_id = $1 AND kind = $2", [userId, kind]);
    const values = [hash, kind, userId, email, nowMs, expiresAtMs];
    await this.#session.write("INSERT INTO perdure_mail_tokens VALUES ($1, $2, $3, $4, $5, $6)", values);
  }

  /** The subject of the token, without using it up. */
  token(hash: Uint8Array, kind: MailTokenKind, nowMs: number): Promise<MailToken | undefined> {
    const text = `SELECT user_id AS "userId", email FROM perdure_mail_tokens
      WHERE token_hash = $1 AND kind = $2 AND expires_at_ms > $3`;
    return this.#session.row(text, [hash, kind, nowMs]);
  }

  /** Works once; undefined when it is unknown, used or too old. */
  useToken(hash: Uint8Array, kind: MailTokenKind, nowMs: number): Promise<MailToken | undefined> {
    const text = `DELETE FROM perdure_mail_tokens WHERE token_hash = $1 AND kind = $2 AND expires_at_ms > $3
      RETURNING user_id AS "userId", email`;
    return this.#session.row(text, [hash, kind, nowMs]);
  }

  // ── notices ────────────────────────────────────────────────────────────────────────────────────

  /** True for the first notice about this subject in this period. Removes some that are too old to be sent again. */
  async isFirstNotice(subject: string, kind: string, period: string, nowMs: number): Promise<boolean> {
    const purge = `DELETE FROM perdure_notices WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM perdure_notices WHERE at_ms < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`;
    await this.#session.write(purge, [nowMs - NOTICES_KEPT_MS, PURGED_AT_ONCE]);
    const text = "INSERT INTO perdure_notices VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    return (await this.#session.write(text, [subject, kind, period, nowMs])) > 0;
  }
}

/** Time for which notices are kept: longer than a month, or the time after which an idle environment is suspended. */
const NOTICES_KEPT_MS = 400 * 86_400_000;
