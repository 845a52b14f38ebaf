/** Invocations of the last hour by deployment, so that a change of versions can be watched. Pure. */
import { type DeploymentSummary, type SqlRow, sqlText } from "@perdure/admin-client";
import { CHART_INKS, type ChartSeries } from "../../kit/chart-text.js";
import { shortId } from "../../kit/id-text.js";
import { numberOf, textOf } from "../rows.js";

const MINUTE_MS = 60_000;
const MINUTES = 60;

const COUNTED = `epoch_ms(time_bucket(INTERVAL '1 minute', created_at)) AS at, count(*) AS calls,
  count(*) FILTER (completion_result = 'failure') AS failed
FROM sys_invocation_status
WHERE created_at > now() - INTERVAL '61 minutes' AND pinned_deployment_id IS NOT NULL`;

/** Rows for `trendsOf`, by deployment. Invocations that have not started have no deployment yet. */
export const DEPLOYMENT_TRENDS = `SELECT pinned_deployment_id AS name, ${COUNTED} GROUP BY 1, 2`;

/** The same for the services of one deployment. */
export function trafficOfServices(services: readonly string[]): string {
  return `SELECT pinned_deployment_id AS name, ${COUNTED} AND target_service_name IN (${services.map(sqlText).join(", ")})
GROUP BY 1, 2`;
}

interface VersionTraffic {
  readonly times: readonly number[];
  /** One line for each deployment, this one first. */
  readonly series: readonly ChartSeries[];
  readonly calls: number;
  /** Calls of this deployment. */
  readonly own: number;
}

export function versionTraffic(
  rows: readonly SqlRow[],
  id: string,
  all: readonly Pick<DeploymentSummary, "id" | "uri" | "arn">[],
  nowMs: number,
): VersionTraffic {
  const end = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const times = Array.from({ length: MINUTES }, (_, minute) => end - (MINUTES - 1 - minute) * MINUTE_MS);
  const byId = new Map<string, Map<number, number>>([[id, new Map()]]);
  for (const row of rows) {
    const deployment = textOf(row, "name") ?? "";
    const counts = byId.get(deployment) ?? new Map<number, number>();
    byId.set(deployment, counts.set(numberOf(row, "at"), numberOf(row, "calls")));
  }
  const sumOf = (counts: ReadonlyMap<number, number>) => times.reduce((sum, at) => sum + (counts.get(at) ?? 0), 0);
  const others = [...byId].filter(([other]) => other !== id).sort((a, b) => sumOf(b[1]) - sumOf(a[1]));
  const shown = [[id, byId.get(id) ?? new Map<number, number>()] as const, ...others.slice(0, CHART_INKS.length - 1)];
  return {
    times,
    series: shown.map(([deployment, counts], index) => ({
      name: deployment === id ? "this deployment" : nameOf(deployment, all),
      ink: CHART_INKS[index] ?? "quiet",
      values: times.map((at) => counts.get(at) ?? 0),
    })),
    calls: [...byId.values()].reduce((sum, counts) => sum + sumOf(counts), 0),
    own: sumOf(byId.get(id) ?? new Map()),
  };
}

function nameOf(id: string, all: readonly Pick<DeploymentSummary, "id" | "uri" | "arn">[]): string {
  const match = all.find((deployment) => deployment.id === id);
  return match === undefined ? shortId(id) : (match.uri ?? match.arn ?? shortId(id));
}
