/** Shows the times of creation of a list's invocations as bars, which reveal a burst or a gap. Pure. */
import type { InvocationFilter, SqlRow } from "@perdure/admin-client";
import { numberOf } from "../rows.js";
import { HISTOGRAM_BARS } from "./limits.js";

export interface HistogramBar {
  readonly fromMs: number;
  /** Excluded. */
  readonly toMs: number;
  readonly count: number;
  readonly failed: number;
}

export interface InvocationHistogram {
  readonly fromMs: number;
  readonly toMs: number;
  /** `HISTOGRAM_BARS` bars, also empty ones. */
  readonly bars: readonly HistogramBar[];
  /** Count of the highest bar. */
  readonly countMax: number;
}

/** One walk over the invocations of the condition. Without a range of the filter the bars are of the time from the first to the last. */
export function histogramStatement(condition: string | undefined, filter: InvocationFilter): string {
  const all = condition === undefined ? "" : ` WHERE ${condition}`;
  const within = filter.createdWithinMs;
  const from = within !== undefined ? `epoch_ms(now()) - ${within}` : (filter.createdAfterMs ?? "min(ms) OVER ()");
  const to = within !== undefined ? "epoch_ms(now())" : (filter.createdBeforeMs ?? "max(ms) OVER () + 1");
  const source = `SELECT epoch_ms(created_at) AS ms, completion_result FROM sys_invocation${all}`;
  const placed = `SELECT ms, completion_result, ${from} AS from_ms, ${to} AS to_ms FROM (${source})`;
  return `SELECT from_ms, to_ms, CAST(floor((ms - from_ms) * ${HISTOGRAM_BARS} / greatest(to_ms - from_ms, 1)) AS INTEGER) AS bar,
  count(*) AS n, count(*) FILTER (completion_result = 'failure') AS failed FROM (${placed}) GROUP BY 1, 2, 3`;
}

/** Undefined where all were created at one moment, or there are none. */
export function histogramOf(rows: readonly SqlRow[]): InvocationHistogram | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const [fromMs, toMs] = [numberOf(first, "from_ms"), numberOf(first, "to_ms")];
  if (toMs - fromMs < HISTOGRAM_BARS) return undefined;
  const widthMs = (toMs - fromMs) / HISTOGRAM_BARS;
  const bars = Array.from({ length: HISTOGRAM_BARS }, (_, i) => ({
    fromMs: Math.floor(fromMs + i * widthMs),
    toMs: Math.floor(fromMs + (i + 1) * widthMs),
    count: 0,
    failed: 0,
  }));
  for (const row of rows) {
    // The clock of the engine and `now()` of the statement may differ by a moment.
    const bar = bars[Math.min(HISTOGRAM_BARS - 1, Math.max(0, numberOf(row, "bar")))];
    if (bar === undefined) continue;
    bar.count += numberOf(row, "n");
    bar.failed += numberOf(row, "failed");
  }
  return { fromMs, toMs, bars, countMax: Math.max(...bars.map(({ count }) => count)) };
}

/** The time from one place to another, each a part of the width, in whole bars. */
export function rangeBetween(
  { bars }: InvocationHistogram,
  one: number,
  other: number,
): { readonly fromMs: number; readonly toMs: number } {
  const barAt = (part: number) => Math.min(bars.length - 1, Math.max(0, Math.floor(part * bars.length)));
  const [first, last] = [barAt(Math.min(one, other)), barAt(Math.max(one, other))];
  return { fromMs: bars[first]?.fromMs ?? 0, toMs: bars[last]?.toMs ?? 0 };
}

/** The same filter for invocations that were created within the range. */
export function createdBetween(filter: InvocationFilter, fromMs: number, toMs: number): InvocationFilter {
  const { createdWithinMs: _within, ...others } = filter;
  return { ...others, createdAfterMs: fromMs, createdBeforeMs: toMs };
}
