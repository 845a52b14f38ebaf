/** Counts attempts from an address or against an account, in windows of time that begin with the first attempt. */
import { present } from "@perdure/base";
import { PURGED_AT_ONCE } from "../limits.js";
import type { SqlSession } from "./session.js";

interface Tried {
  /** Number of attempts in this window, this one included. */
  readonly count: number;
  readonly endsAtMs: number;
}

export class AttemptsTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Counts an attempt before its result. Removes some windows that are over. */
  async count(kind: string, subject: string, windowMs: number, nowMs: number): Promise<Tried> {
    const purge = `DELETE FROM perdure_attempts WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM perdure_attempts WHERE ends_at_ms < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`;
    await this.#session.write(purge, [nowMs, PURGED_AT_ONCE]);
    const text = `INSERT INTO perdure_attempts AS a VALUES ($1, $2, 1, $3)
      ON CONFLICT (kind, subject) DO UPDATE SET
        count = CASE WHEN a.ends_at_ms <= $4 THEN 1 ELSE least(a.count, 1000000) + 1 END,
        ends_at_ms = CASE WHEN a.ends_at_ms <= $4 THEN $3 ELSE a.ends_at_ms END
      RETURNING count, ends_at_ms AS "endsAtMs"`;
    const row = await this.#session.row<Tried>(text, [kind, subject, nowMs + windowMs, nowMs]);
    return present(row);
  }

  async delete(kind: string, subject: string): Promise<void> {
    await this.#session.write("DELETE FROM perdure_attempts WHERE kind = $1 AND subject = $2", [kind, subject]);
  }
}
