/** Usage of environments by day (UTC), computed from totals of sources so that nothing counts twice. */
import type { AccountId, EnvironmentId } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

interface SourceTotals {
  readonly actions: number;
  readonly ingressRequests: number;
  readonly adminRequests: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly tunnelBytes: number;
}

export interface UsageDayRecord extends SourceTotals {
  readonly environmentId: EnvironmentId;
  /** `2026-11-21` */
  readonly day: string;
  readonly storedBytes: number;
  readonly storedBytesPeak: number;
}

/** Usage of an account in a calendar month. */
export interface MonthlyUse {
  readonly accountId: AccountId;
  readonly actions: number;
  /** Bytes that left environments: answers of gateways, and traffic through tunnels. */
  readonly trafficBytes: number;
}

export class UsageTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Totals of a source since its start, and the stored bytes when the source has them. Reports of deleted environments are not counted. */
  async report(
    environmentId: EnvironmentId,
    source: string,
    atMs: number,
    totals: SourceTotals,
    storedBytes: number | undefined,
  ): Promise<void> {
    const { actions, ingressRequests, adminRequests, bytesIn, bytesOut, tunnelBytes } = totals;
    const text = `SELECT perdure_usage_report($1, $2, $3, $4, $5)
      WHERE EXISTS (SELECT FROM perdure_environments WHERE id = $1 AND status <> 'DELETED')`;
    const counted = [actions, ingressRequests, adminRequests, bytesIn, bytesOut, tunnelBytes];
    await this.#session.write(text, [environmentId, source, atMs, counted, storedBytes]);
  }

  /** Returns the time of the last report of any source and environment; undefined when none has reported. */
  async lastReportMs(): Promise<number | undefined> {
    const text = 'SELECT max(seen_at_ms) AS "atMs" FROM perdure_usage_sources';
    return (await this.#session.row<{ atMs?: number | undefined }>(text, []))?.atMs;
  }

  /** Days from `from` to `to` (both included), of one environment or all of the account, oldest first. */
  days(accountId: AccountId, environmentId: EnvironmentId | undefined, from: string, to: string): Promise<UsageDayRecord[]> {
    const text = `SELECT u.environment_id AS "environmentId", to_char(u.day, 'YYYY-MM-DD') AS day, u.actions,
        u.ingress_requests AS "ingressRequests", u.admin_requests AS "adminRequests", u.bytes_in AS "bytesIn", u.bytes_out AS "bytesOut",
        u.tunnel_bytes AS "tunnelBytes", u.stored_bytes AS "storedBytes", u.stored_bytes_peak AS "storedBytesPeak"
      FROM perdure_usage u JOIN perdure_environments e ON e.id = u.environment_id
      WHERE e.account_id = $1 AND ($2::text IS NULL OR u.environment_id = $2) AND u.day BETWEEN $3::date AND $4::date
      ORDER BY u.day, u.environment_id`;
    return this.#session.rows(text, [accountId, environmentId, from, to]);
  }

  /** Usage of accounts since the first of the month of `nowMs`; accounts without usage are left out. */
  ofMonth(nowMs: number): Promise<MonthlyUse[]> {
    const text = `SELECT e.account_id AS "accountId", sum(u.actions)::bigint AS actions,
        sum(u.bytes_out + u.tunnel_bytes)::bigint AS "trafficBytes"
      FROM perdure_usage u JOIN perdure_environments e ON e.id = u.environment_id
      WHERE u.day >= date_trunc('month', to_timestamp($1 / 1000.0) AT TIME ZONE 'UTC')::date GROUP BY e.account_id`;
    return this.#session.rows(text, [nowMs]);
  }

  /** Sources that were silent for long never speak again. */
  deleteSources(reportedBeforeMs: number): Promise<number> {
    return this.#session.write("DELETE FROM perdure_usage_sources WHERE seen_at_ms < $1", [reportedBeforeMs]);
  }
}
