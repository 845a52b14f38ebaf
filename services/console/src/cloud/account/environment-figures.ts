/** Traffic and the last deployment of an environment, for the list of environments. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { countOf, textOf } from "../../environment/rows.js";
import { type HourTrend, NO_TREND, trendsOf } from "../../environment/trend-rows.js";

export interface EnvironmentFigures {
  readonly trend: HourTrend;
  /** Milliseconds since 1970; undefined without a deployment. */
  readonly deployedAtMs: number | undefined;
}

const CALLS = "calls";
const DEPLOYED = "deployed";

/** Counts of all services by minute, and a row with the registration of the newest deployment. */
export const FIGURES_STATEMENT = `SELECT '${CALLS}' AS name, epoch_ms(starts_at) AS at, sum(created) AS calls, sum(failed) AS failed
FROM sys_traffic
WHERE service_name IS NOT NULL AND period = INTERVAL '60 seconds' AND starts_at > now() - INTERVAL '61 minutes'
GROUP BY 2
UNION ALL SELECT '${DEPLOYED}', epoch_ms(max(created_at)), 0, 0 FROM sys_deployment`;

export function figuresOf(rows: readonly SqlRow[], nowMs: number): EnvironmentFigures {
  const deployed = rows.find((row) => textOf(row, "name") === DEPLOYED);
  return {
    trend: trendsOf(rows, nowMs).get(CALLS) ?? NO_TREND,
    deployedAtMs: deployed === undefined ? undefined : countOf(deployed, "at"),
  };
}
