/** Counts of one service by minute, for the charts of its page. Pure: rows in, points out. */
import { type SqlRow, sqlText } from "@perdure/admin-client";
import { backlogOf } from "../backlog.js";
import { countOf, numberOf, textOf } from "../rows.js";

const MINUTE_MS = 60_000;
const POINTS_MAX = 60;

/** Rows without a service say since when a worker counts. */
export function trafficOfService(service: string): string {
  return `SELECT service_name AS name, epoch_ms(starts_at) AS at, sum(created) AS created, sum(completed) AS completed,
  sum(failed) AS failed, epoch_ms(max(counted_since)) AS since
FROM sys_traffic
WHERE service_name IS NULL
  OR (service_name = ${sqlText(service)} AND period = INTERVAL '60 seconds' AND starts_at > now() - INTERVAL '61 minutes')
GROUP BY 1, 2`;
}

export function unfinishedOfService(service: string): string {
  return `SELECT count(*) AS n FROM sys_invocation_status WHERE target_service_name = ${sqlText(service)} AND status != 'completed'`;
}

/** The last hour, minute by minute; null for minutes that not all workers have counted. */
interface ServiceTraffic {
  /** Begins of whole minutes, milliseconds since 1970. */
  readonly times: readonly number[];
  readonly created: readonly (number | null)[];
  readonly failed: readonly (number | null)[];
  readonly backlog: readonly (number | null)[];
}

interface TrafficInput {
  readonly counts: readonly SqlRow[];
  readonly unfinished: readonly SqlRow[];
  readonly nowMs: number;
}

export function serviceTraffic({ counts, unfinished, nowMs }: TrafficInput): ServiceTraffic {
  const sinceMs = Math.max(0, ...counts.map((row) => (textOf(row, "name") === undefined ? (countOf(row, "since") ?? 0) : 0)));
  const end = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const times = Array.from({ length: POINTS_MAX }, (_, i) => end - (POINTS_MAX - i) * MINUTE_MS);
  const counted = <T>(values: readonly T[]) => values.map((value, i) => ((times[i] ?? 0) < sinceMs ? null : value));
  const rows = counts.filter((row) => textOf(row, "name") !== undefined);
  const byMinute = new Map(rows.map((row) => [numberOf(row, "at"), row]));
  const valuesOf = (column: string) => counted(times.map((at) => numberOf(byMinute.get(at) ?? {}, column)));
  const flows = rows.map((row) => {
    return { atMs: numberOf(row, "at"), created: numberOf(row, "created"), completed: numberOf(row, "completed") };
  });
  const unfinishedNow = numberOf(unfinished[0] ?? {}, "n");
  const backlog = counted(backlogOf({ times, bucketMs: MINUTE_MS, flows, unfinishedNow }));
  return { times, created: valuesOf("created"), failed: valuesOf("failed"), backlog };
}
