/** Quantiles of measured times. */

const PERCENT_99 = 0.99;

export interface Quantiles {
  readonly count: number;
  readonly median: number;
  readonly p99: number;
  readonly max: number;
}

/** All are 0 for an empty list. */
export function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (quantile: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] ?? 0);
  return { count: sorted.length, median: at(0.5), p99: at(PERCENT_99), max: at(1) };
}
