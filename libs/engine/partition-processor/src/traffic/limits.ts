/** Bounds of the counters of invocations over time. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

interface Resolution {
  /** Duration of one period. */
  readonly periodMs: number;
  /** Periods that are kept beside the present one. */
  readonly count: number;
}

/** 15 minutes, an hour, a day and a week, each in as many periods as a chart can show. */
export const RESOLUTIONS: readonly Resolution[] = [
  { periodMs: 15 * SECOND_MS, count: 60 },
  { periodMs: MINUTE_MS, count: 60 },
  { periodMs: 15 * MINUTE_MS, count: 96 },
  { periodMs: 2 * HOUR_MS, count: 84 },
];

/**
 * Services that are counted. One that is always in use has 300 periods of some 350 bytes, so all of them take 10 MB. With more services
 * the counters are incomplete, and say so.
 */
export const SERVICES_MAX = 100;

/** Classes of durations, each 1.41 times as long as the one before: from 1 ms to a day and a half. Longer ones are in the last one. */
export const DURATION_CLASS_COUNT = 56;

/** Bound of the last class, ten years: what is longer counts as that. */
export const DURATION_MS_MAX = 10 * 366 * 24 * HOUR_MS;
