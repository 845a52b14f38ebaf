/** The audit log: lines are only ever added. */
import { jsonFields, PerdureError, parseJson } from "@perdure/base";
import type { AccountId, EnvironmentId } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

export interface AuditEntry {
  readonly atMs: number;
  readonly accountId: AccountId | undefined;
  readonly environmentId: EnvironmentId | undefined;
  readonly actorKind: "user" | "system";
  /** A user's id, or the name of a part of the platform. */
  readonly actorId: string;
  /** `environment.suspend` … */
  readonly action: string;
  readonly target: string | undefined;
  /** Plain data without secrets. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
  readonly remoteAddress: string | undefined;
}

/** Numbers rise in the order of writing; not every number occurs. */
export interface AuditRecord extends AuditEntry {
  readonly number: number;
}

export interface AuditFilter {
  readonly accountId: AccountId;
  readonly environmentId?: EnvironmentId | undefined;
  readonly actorId?: string | undefined;
  readonly action?: string | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  /** Number of a line: only older lines are returned. */
  readonly before?: number | undefined;
}

const COLUMNS = `number, at_ms AS "atMs", account_id AS "accountId", environment_id AS "environmentId", actor_kind AS "actorKind",
  actor_id AS "actorId", action, target, details, request_id AS "requestId", remote_address AS "remoteAddress"`;

export class AuditTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  async append(entry: AuditEntry): Promise<void> {
    const text = `INSERT INTO perdure_audit (at_ms, account_id, environment_id, actor_kind, actor_id, action, target, details,
      request_id, remote_address) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;
    const { atMs, accountId, environmentId, actorKind, actorId, action, target, details, requestId, remoteAddress } = entry;
    const detailsJson = JSON.stringify(details);
    await this.#session.write(text, [
      atMs,
      accountId,
      environmentId,
      actorKind,
      actorId,
      action,
      target,
      detailsJson,
      requestId,
      remoteAddress,
    ]);
  }

  /** Newest first, at most `limit`. Throws STO0003 when the details of a line cannot be read: a log with holes would hide them. */
  async list(filter: AuditFilter, limit: number): Promise<AuditRecord[]> {
    const { accountId, environmentId, actorId, action, fromMs, toMs, before } = filter;
    const text = `SELECT ${COLUMNS} FROM perdure_audit
      WHERE account_id = $1 AND ($2::text IS NULL OR environment_id = $2) AND ($3::text IS NULL OR actor_id = $3)
        AND ($4::text IS NULL OR action = $4) AND ($5::bigint IS NULL OR at_ms >= $5) AND ($6::bigint IS NULL OR at_ms < $6)
        AND ($7::bigint IS NULL OR number < $7)
      ORDER BY number DESC LIMIT $8`;
    const values = [accountId, environmentId, actorId, action, fromMs, toMs, before, limit];
    const rows = await this.#session.rows<AuditRecord & { details: string }>(text, values);
    return rows.map((row) => ({ ...row, details: detailsOf(row) }));
  }
}

function detailsOf({ number, details }: { readonly number: number; readonly details: string }): AuditEntry["details"] {
  const fields = jsonFields(parseJson(details));
  if (fields === undefined) throw new PerdureError("STO0003", `the details of line ${number} of the audit log cannot be read`);
  return fields;
}
