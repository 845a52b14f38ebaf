/** Gateways that live, and what they are asked, as they say. */
import type { GatewayReport, RateDemand } from "@perdure/cloud";
import type { SqlSession } from "./session.js";

/** What a gateway said so long ago is swept out with the next report of any other. */
const KEPT_MS = 3_600_000;

export class GatewaysTable {
  readonly #session: SqlSession;

  constructor(session: SqlSession) {
    this.#session = session;
  }

  /** Replaces what the gateway said before. `nowMs`: our time, since gateways' clocks may differ. */
  async replace({ gateway, region, demands }: GatewayReport, nowMs: number): Promise<void> {
    const text = `WITH old AS (DELETE FROM perdure_gateways WHERE seen_at_ms < $4::bigint - ${KEPT_MS} AND gateway <> $1)
      INSERT INTO perdure_gateways (gateway, region, demands, seen_at_ms) VALUES ($1, $2, $3::json, $4)
      ON CONFLICT (gateway) DO UPDATE SET region = excluded.region, demands = excluded.demands, seen_at_ms = excluded.seen_at_ms`;
    await this.#session.write(text, [gateway, region, JSON.stringify(demands), nowMs]);
  }

  /** Those of a region that were heard of since. */
  async of(region: string, reportedSinceMs: number): Promise<GatewayReport[]> {
    const text =
      "SELECT gateway, region, demands::text AS demands FROM perdure_gateways WHERE region = $1 AND seen_at_ms >= $2 ORDER BY gateway";
    const rows = await this.#session.rows<{ gateway: string; region: string; demands: string }>(text, [region, reportedSinceMs]);
    return rows.map((row) => ({ ...row, demands: JSON.parse(row.demands) as RateDemand[] }));
  }
}
