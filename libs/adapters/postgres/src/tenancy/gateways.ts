/** Live gateways, and their demand as they report it. */
import type { GatewayReport, RateDemand } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

/** Reports that are older than this are deleted with the next report of any other gateway. */
const KEPT_MS = 3_600_000;

export class GatewaysTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Replaces the previous report of the gateway. `nowMs`: time of this process, since gateways' clocks may differ. */
  async replace({ gateway, region, demands }: GatewayReport, nowMs: number): Promise<void> {
    const text = `WITH old AS (DELETE FROM perdure_gateways WHERE seen_at_ms < $4::bigint - ${KEPT_MS} AND gateway <> $1)
      INSERT INTO perdure_gateways (gateway, region, demands, seen_at_ms) VALUES ($1, $2, $3::json, $4)
      ON CONFLICT (gateway) DO UPDATE SET region = excluded.region, demands = excluded.demands, seen_at_ms = excluded.seen_at_ms`;
    await this.#session.write(text, [gateway, region, JSON.stringify(demands), nowMs]);
  }

  /** Gateways of a region that have reported since then. */
  async of(region: string, reportedSinceMs: number): Promise<GatewayReport[]> {
    const text =
      "SELECT gateway, region, demands::text AS demands FROM perdure_gateways WHERE region = $1 AND seen_at_ms >= $2 ORDER BY gateway";
    const rows = await this.#session.rows<{ gateway: string; region: string; demands: string }>(text, [region, reportedSinceMs]);
    return rows.map((row) => ({ ...row, demands: JSON.parse(row.demands) as RateDemand[] }));
  }
}
