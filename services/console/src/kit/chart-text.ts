/** A chart as text for screen readers, and the position of its pointer. Pure. */

export interface ChartSeries {
  readonly name: string;
  /** One for each moment; null where there is none. */
  readonly values: readonly (number | null)[];
  /** Colour token; `accent` by default. */
  readonly ink?: ChartInk;
  /** Filled down to the axis. */
  readonly isFilled?: boolean;
}

export type ChartInk = "accent" | "good" | "bad" | "warn" | "quiet";
export const CHART_INKS: readonly ChartInk[] = ["accent", "good", "bad", "warn", "quiet"];

/** `Requests a minute: last 12, most 40. Failures: none.` */
export function chartSummary(series: readonly ChartSeries[], valueText: (value: number) => string): string {
  return series.map((each) => `${each.name}: ${seriesSummary(each.values, valueText)}.`).join(" ");
}

function seriesSummary(values: readonly (number | null)[], valueText: (value: number) => string): string {
  const numbers = values.filter((value) => value !== null);
  const last = numbers.at(-1);
  if (last === undefined) return "nothing";
  return `last ${valueText(last)}, most ${valueText(numbers.reduce((most, value) => Math.max(most, value)))}`;
}

/** The value at `index`, or the last that there is when nothing is pointed at. */
export function valueAt({ values }: ChartSeries, index: number | undefined): number | null {
  if (index !== undefined) return values[index] ?? null;
  return values.findLast((value) => value !== null) ?? null;
}
