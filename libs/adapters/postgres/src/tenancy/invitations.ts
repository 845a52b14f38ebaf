/** Invitations to an account: bound to an address, good once, for a while (cloud.md §4.6). */
import type { AccountId, MemberRole, UserId } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

interface InvitationRecord {
  /** `invitation_` and characters of base 62. */
  readonly id: string;
  readonly accountId: AccountId;
  readonly email: string;
  readonly role: MemberRole;
  readonly invitedBy: UserId;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

const COLUMNS = `id, account_id AS "accountId", email, role, invited_by AS "invitedBy", created_at_ms AS "createdAtMs",
  expires_at_ms AS "expiresAtMs"`;

export class InvitationsTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  async insert(invitation: InvitationRecord, tokenHash: Uint8Array): Promise<void> {
    const { id, accountId, email, role, invitedBy, createdAtMs, expiresAtMs } = invitation;
    const values = [id, accountId, email, role, tokenHash, invitedBy, createdAtMs, expiresAtMs];
    await this.#session.write("INSERT INTO perdure_invitations VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", values);
  }

  /** Invitations that can still be accepted. */
  open(accountId: AccountId, nowMs: number): Promise<InvitationRecord[]> {
    const text = `SELECT ${COLUMNS} FROM perdure_invitations
      WHERE account_id = $1 AND ended_at_ms IS NULL AND expires_at_ms > $2 ORDER BY created_at_ms, id`;
    return this.#session.rows(text, [accountId, nowMs]);
  }

  /** Takes it for good, when it is open and meant for this address; undefined otherwise. */
  accept(tokenHash: Uint8Array, email: string, userId: UserId, nowMs: number): Promise<InvitationRecord | undefined> {
    const text = `UPDATE perdure_invitations SET ended_at_ms = $4, accepted_by = $3
      WHERE token_hash = $1 AND lower(email) = lower($2) AND ended_at_ms IS NULL AND expires_at_ms > $4 RETURNING ${COLUMNS}`;
    return this.#session.row(text, [tokenHash, email, userId, nowMs]);
  }

  /** Ends the open invitations for this address. Returns their number. */
  withdraw(accountId: AccountId, email: string, nowMs: number): Promise<number> {
    const text =
      "UPDATE perdure_invitations SET ended_at_ms = $3 WHERE account_id = $1 AND lower(email) = lower($2) AND ended_at_ms IS NULL";
    return this.#session.write(text, [accountId, email, nowMs]);
  }
}
