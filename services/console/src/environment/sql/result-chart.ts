/** What a chart of a result shows: lines over a column of moments, or a bar for each value of another column. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { CHART_INKS, type ChartSeries } from "../../kit/chart-text.js";
import { numberOf } from "../rows.js";
import { BARS_SHOWN_MAX } from "./limits.js";
import { cellText, isNumeric, type SqlResult, type SqlResultColumn } from "./result.js";

export interface ChartableColumns {
  readonly times: readonly string[];
  readonly categories: readonly string[];
  readonly numbers: readonly string[];
}

const isTime = ({ type = "" }: SqlResultColumn): boolean => /^(?:Timestamp|Date)/.test(type);

/** Undefined when no column has numbers, or no other one is there to arrange them by. */
export function chartableColumns({ columns, rows }: SqlResult): ChartableColumns | undefined {
  const named = (kept: readonly SqlResultColumn[]) => kept.map(({ name }) => name);
  const times = columns.filter(isTime);
  const numbers = columns.filter(isNumeric);
  const categories = columns.filter((column) => !times.includes(column) && !numbers.includes(column));
  const isChartable = rows.length > 1 && numbers.length > 0 && times.length + categories.length > 0;
  return isChartable ? { times: named(times), categories: named(categories), numbers: named(numbers) } : undefined;
}

interface LineChart {
  /** Milliseconds since 1970, rising. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  /** Lines that do not fit, because there are only so many colours. */
  readonly hidden: number;
  /** Several rows had the same moment and line: their values were added. */
  readonly isSummed: boolean;
}

interface LineColumns {
  readonly time: string;
  readonly values: readonly string[];
  /** A line for each value of this column. */
  readonly split: string | undefined;
}

/** Lines with the greatest sums. Rows without a moment are left out. */
export function lineChart({ rows }: SqlResult, { time, values, split }: LineColumns): LineChart {
  const lines = new Map<string, Map<number, number>>();
  const moments = new Set<number>();
  let isSummed = false;
  for (const row of rows) {
    const at = momentOf(row, time);
    if (at === undefined) continue;
    moments.add(at);
    for (const column of values) {
      if (row[column] === undefined || row[column] === null) continue;
      const points = pointsOf(lines, lineName(row, column, values, split));
      isSummed ||= points.has(at);
      points.set(at, (points.get(at) ?? 0) + numberOf(row, column));
    }
  }
  const times = [...moments].sort((a, b) => a - b);
  const greatest = [...lines].sort((a, b) => sumOf(b[1]) - sumOf(a[1])).slice(0, CHART_INKS.length);
  const series = greatest.map(([name, points], index) => ({
    name,
    ink: CHART_INKS[index] ?? "quiet",
    values: times.map((at) => points.get(at) ?? null),
  }));
  return { times, series, hidden: lines.size - series.length, isSummed };
}

function momentOf(row: SqlRow, column: string): number | undefined {
  const text = cellText(row[column]);
  // A moment without a zone is in UTC, as all moments of the server.
  const ms = text === undefined ? Number.NaN : Date.parse(/\d:\d\d(:[\d.]+)?$/.test(text) ? `${text.replace(" ", "T")}Z` : text);
  return Number.isNaN(ms) ? undefined : ms;
}

function lineName(row: SqlRow, column: string, values: readonly string[], split: string | undefined): string {
  if (split === undefined) return column;
  const part = cellText(row[split]) ?? "NULL";
  return values.length === 1 ? part : `${part}, ${column}`;
}

function pointsOf(lines: Map<string, Map<number, number>>, name: string): Map<number, number> {
  const existing = lines.get(name);
  if (existing !== undefined) return existing;
  const points = new Map<number, number>();
  lines.set(name, points);
  return points;
}

const sumOf = (points: ReadonlyMap<number, number>): number => [...points.values()].reduce((sum, value) => sum + value, 0);

interface BarChart {
  readonly bars: readonly { readonly label: string; readonly value: number }[];
  readonly hidden: number;
  readonly isSummed: boolean;
}

/** A bar for each value of a column, in the order of the rows. */
export function barChart({ rows }: SqlResult, category: string, value: string): BarChart {
  const sums = new Map<string, number>();
  let isSummed = false;
  for (const row of rows) {
    const label = cellText(row[category]) ?? "NULL";
    isSummed ||= sums.has(label);
    sums.set(label, (sums.get(label) ?? 0) + numberOf(row, value));
  }
  const bars = [...sums].map(([label, value]) => ({ label, value }));
  return { bars: bars.slice(0, BARS_SHOWN_MAX), hidden: Math.max(0, bars.length - BARS_SHOWN_MAX), isSummed };
}
