/** Live gateways, and their demand as they report it. */
import { jsonFields, parseJson } from "@perdure/base";
import { type GatewayReport, parseEnvironmentId, type RateDemand } from "@perdure/cloud";
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
    return rows.map((row) => ({ ...row, demands: demandsOf(row.demands) }));
  }
}

/** Demands that cannot be read are left out: a report lives for seconds, and the other gateways still need their shares. */
function demandsOf(text: string): readonly RateDemand[] {
  const parsed = parseJson(text);
  return Array.isArray(parsed) ? parsed.map(demandOf).filter((demand) => demand !== undefined) : [];
}

function demandOf(value: unknown): RateDemand | undefined {
  const { environmentId: id, door, perSecond } = jsonFields(value) ?? {};
  const environmentId = typeof id === "string" ? parseEnvironmentId(id) : undefined;
  if (environmentId === undefined || (door !== "ingress" && door !== "admin")) return undefined;
  return typeof perSecond === "number" && perSecond >= 0 ? { environmentId, door, perSecond } : undefined;
}
