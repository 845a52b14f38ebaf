/** Calls and failures of the last hour, for trends in the rows of lists. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import type { TrendBars } from "../kit/trend.js";
import { countOf, numberOf, textOf } from "./rows.js";

const MINUTE_MS = 60_000;
const SPAN_MS = 60 * MINUTE_MS;
/** Twenty bars fit into a cell. */
const BAR_MS = 3 * MINUTE_MS;
const BARS = SPAN_MS / BAR_MS;

export interface HourTrend {
  readonly bars: TrendBars;
  readonly calls: number;
  readonly failed: number;
}

/**
 * Calls and failures by service and minute, from the counters of the workers. Rows without a service say since when a worker counts.
 */
export const SERVICE_TRENDS = `SELECT service_name AS name, epoch_ms(starts_at) AS at, sum(created) AS calls, sum(failed) AS failed,
  epoch_ms(max(counted_since)) AS since
FROM sys_traffic
WHERE service_name IS NULL OR (period = INTERVAL '60 seconds' AND starts_at > now() - INTERVAL '61 minutes')
GROUP BY 1, 2`;

/** Trends by name from rows with the columns `name`, `at`, `calls` and `failed`. */
export function trendsOf(rows: readonly SqlRow[], nowMs: number): ReadonlyMap<string, HourTrend> {
  const end = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const byName = Map.groupBy(rows, (row) => textOf(row, "name"));
  const trends = new Map<string, HourTrend>();
  for (const [name, own] of byName) if (name !== undefined) trends.set(name, trendOf(own, end - SPAN_MS));
  return trends;
}

function trendOf(rows: readonly SqlRow[], startMs: number): HourTrend {
  const totals = Array.from({ length: BARS }, () => 0);
  const bad = Array.from({ length: BARS }, () => 0);
  let calls = 0;
  let failed = 0;
  for (const row of rows) {
    const bar = Math.floor((numberOf(row, "at") - startMs) / BAR_MS);
    if (bar < 0) continue; // Older than an hour.
    const last = Math.min(bar, BARS - 1); // The clock of the server may be ahead of that of the browser.
    totals[last] = (totals[last] ?? 0) + numberOf(row, "calls");
    bad[last] = (bad[last] ?? 0) + numberOf(row, "failed");
    calls += numberOf(row, "calls");
    failed += numberOf(row, "failed");
  }
  return { bars: { totals, bad }, calls, failed };
}

/** When the counters begin, if that was within the last hour; undefined when they cover it. */
export function partialSince(rows: readonly SqlRow[], nowMs: number): number | undefined {
  const since = rows.flatMap((row) => (textOf(row, "name") === undefined ? [countOf(row, "since")] : []));
  const latest = Math.max(0, ...since.filter((ms) => ms !== undefined));
  return latest > nowMs - SPAN_MS ? latest : undefined;
}

export const NO_TREND: HourTrend = {
  bars: { totals: Array.from({ length: BARS }, () => 0), bad: Array.from({ length: BARS }, () => 0) },
  calls: 0,
  failed: 0,
};

/** The label of a trend: `Orders, last hour: 12 calls, 1 failed, at most 5 calls per 3 minutes`. */
export function trendLabel(name: string, { bars, calls, failed }: HourTrend): string {
  const most = Math.max(...bars.totals);
  const amounts = [`${calls.toLocaleString("en")} ${calls === 1 ? "call" : "calls"}`, `${failed.toLocaleString("en")} failed`];
  if (most > 0) amounts.push(`at most ${most.toLocaleString("en")} per 3 minutes`);
  return `${name}, last hour: ${amounts.join(", ")}`;
}
