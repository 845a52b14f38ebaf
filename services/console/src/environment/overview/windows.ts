/** The time range of the overview's figures and charts: minutes for an outage, days for a trend. Pure. */

export interface Window {
  /** Value in the address. */
  readonly name: string;
  readonly label: string;
  readonly spanMs: number;
  /** Duration of one point of a chart; at most a hundred are readable at that size. */
  readonly bucketMs: number;
  /** `Per minute`: unit of a point of the chart. */
  readonly per: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const HOUR_WINDOW: Window = { name: "1h", label: "1 hour", spanMs: HOUR_MS, bucketMs: MINUTE_MS, per: "Per minute" };

export const WINDOWS: readonly Window[] = [
  { name: "15m", label: "15 min", spanMs: 15 * MINUTE_MS, bucketMs: MINUTE_MS / 4, per: "Per 15 s" },
  HOUR_WINDOW,
  { name: "24h", label: "24 hours", spanMs: DAY_MS, bucketMs: 15 * MINUTE_MS, per: "Per 15 min" },
  { name: "7d", label: "7 days", spanMs: 7 * DAY_MS, bucketMs: 2 * HOUR_MS, per: "Per 2 h" },
];

/** An hour for anything that is not a window. */
export function windowOf(name: string | null): Window {
  return WINDOWS.find((each) => each.name === name) ?? HOUR_WINDOW;
}
