/**
 * Traffic from the counters that workers keep in memory (`sys_traffic`): its cost does not depend on the number of invocations, and it
 * includes those that are not retained. Counters begin with the process, so a range that began earlier is read from the invocations.
 */
import type { SqlRow } from "@perdure/admin-client";
import type { ConsoleEnvironment } from "../environment.js";
import { countOf, numberOf, textOf } from "../rows.js";
import { BY_ENDED, BY_MADE, BY_SERVICE, WHOLE } from "./figures.js";
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

/** Time since which every invocation is counted; undefined when a worker has not reported or does not count all of them. */
export function countedSince(rows: readonly SqlRow[]): number | undefined {
  const [row = {}] = rows;
  const reported = numberOf(row, "reported");
  if (reported === 0 || reported !== numberOf(row, "nodes") || reported !== numberOf(row, "complete")) return undefined;
  return countOf(row, "since");
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

/** Completed invocations of one class of durations. */
interface DurationClass {
  readonly msMax: number;
  readonly count: number;
}

/** The rows of `trafficStatement` from the counts by service and by point. */
export function rowsOfCounts(counts: readonly SqlRow[]): readonly SqlRow[] {
  const ofServices = counts.filter((row) => textOf(row, "service") !== undefined);
  const byService = Map.groupBy(ofServices, (row) => textOf(row, "service"));
  const byPoint = Map.groupBy(
    counts.filter((row) => countOf(row, "at") !== undefined),
    (row) => numberOf(row, "at"),
  );
  return [
    ...[...byService].map(([service, rows]) => ({ service, part: BY_SERVICE, ...figuresOf(rows) })),
    ...[...byPoint].map(([made, rows]) => ({ made, part: BY_MADE, n: sumOf(rows, "created") })),
    ...[...byPoint].map(([ended, rows]) => ({ ended, part: BY_ENDED, ...figuresOf(rows) })),
    { part: WHOLE, ...figuresOf(ofServices) },
  ];
}

function figuresOf(rows: readonly SqlRow[]): SqlRow {
  const classes = rows
    .flatMap((row): readonly DurationClass[] => {
      const msMax = countOf(row, "ms");
      return msMax === undefined ? [] : [{ msMax, count: numberOf(row, "completed") }];
    })
    .sort((a, b) => a.msMax - b.msMax);
  const [p50, p99] = [quantileOf(classes, 0.5), quantileOf(classes, 0.99)];
  return {
    n: sumOf(rows, "created"),
    n_ended: sumOf(rows, "completed"),
    failed: sumOf(rows, "failed"),
    ...(p50 === undefined ? {} : { p50 }),
    ...(p99 === undefined ? {} : { p99 }),
  };
}

function sumOf(rows: readonly SqlRow[], column: string): number {
  return rows.reduce((sum, row) => sum + numberOf(row, column), 0);
}

/** Each class begins at its bound divided by this; durations are assumed to be spread evenly within a class. */
const CLASS_RATIO = Math.SQRT2;

/** Undefined when nothing has completed. */
export function quantileOf(classes: readonly DurationClass[], share: number): number | undefined {
  const total = classes.reduce((sum, { count }) => sum + count, 0);
  let before = 0;
  for (const { msMax, count } of classes) {
    if (count > 0 && before + count >= share * total) {
      const least = msMax / CLASS_RATIO;
      return Math.round(least + ((msMax - least) * (share * total - before)) / count);
    }
    before += count;
  }
  return undefined;
}
