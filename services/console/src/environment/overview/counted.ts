/**
 * Traffic from the counters that workers keep in memory (`sys_traffic`): its cost does not depend on the number of invocations, and it
 * includes those that are not retained. Counters begin with the process, so a range that began earlier is read from the invocations.
 */
import type { SqlRow } from "@perdure/admin-client";
import type { ConsoleEnvironment } from "../environment.js";
import { numberOf } from "../rows.js";
import { countedSince, rowsOfCounts } from "./counted-rows.js";
import { FAILED, trafficStatement } from "./questions.js";
import { HOUR_WINDOW, type Window } from "./windows.js";

/** A row without a service says that its worker has reported, and since when its counters are complete. */
const COVERAGE = `SELECT count(*) FILTER (service_name IS NULL) AS reported,
  count(counted_since) FILTER (service_name IS NULL) AS complete, epoch_ms(max(counted_since)) AS since,
  sum(failed) FILTER (period = INTERVAL '60 seconds' AND starts_at > now() - INTERVAL '61 minutes') AS failed,
  (SELECT count(*) FROM sys_node) AS nodes
FROM sys_traffic`;

function countsStatement({ spanMs, bucketMs }: Window, nowMs: number): string {
  const firstMs = Math.floor(nowMs / bucketMs) * bucketMs - spanMs;
  return `SELECT service_name AS service, epoch_ms(starts_at) AS at, epoch(duration_max) * 1000 AS ms,
  sum(created) AS created, sum(completed) AS completed, sum(failed) AS failed
FROM sys_traffic WHERE period = INTERVAL '${bucketMs / 1_000} seconds' AND epoch_ms(starts_at) >= ${firstMs}
GROUP BY GROUPING SETS ((service_name, duration_max), (starts_at, duration_max))`;
}

export interface TrafficRows {
  readonly rows: readonly SqlRow[];
  /** Whether they come from counters. */
  readonly isCounted: boolean;
}

/** The rows of a window in the form of `trafficStatement`. A server of an earlier release has no counters. */
export async function readTraffic({ admin }: ConsoleEnvironment, window: Window, signal: AbortSignal): Promise<TrafficRows> {
  const sinceMs = countedSince(await readCoverage(admin, signal));
  const nowMs = Date.now();
  if (sinceMs === undefined || sinceMs > nowMs - window.spanMs)
    return { rows: await admin.sql.query(trafficStatement(window), { signal }), isCounted: false };
  const counts = await admin.sql.query(countsStatement(window, nowMs), { signal });
  return { rows: rowsOfCounts(counts), isCounted: true };
}

/** The rows of `FAILED`, which walks over all completed invocations: not read when the counters know of no failure. */
export async function readFailed({ admin }: ConsoleEnvironment, signal: AbortSignal): Promise<readonly SqlRow[]> {
  const coverage = await readCoverage(admin, signal);
  const sinceMs = countedSince(coverage);
  const isCounted = sinceMs !== undefined && sinceMs <= Date.now() - HOUR_WINDOW.spanMs;
  if (isCounted && numberOf(coverage[0] ?? {}, "failed") === 0) return [];
  return await admin.sql.query(FAILED, { signal });
}

/** No rows when the server has no counters. */
function readCoverage({ sql }: ConsoleEnvironment["admin"], signal: AbortSignal): Promise<readonly SqlRow[]> {
  return sql.query(COVERAGE, { signal }).catch(() => []);
}
