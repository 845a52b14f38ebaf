/** Bounds of flow control, each with the reason for its value. */

/** Starts given out before the partition is asked to make them durable: a commit's worth, some milliseconds of work. */
export const ADMISSIONS_MAX = 256;

/** How often buckets that are full again are forgotten. Only memory and rows depend on it, so it need not be often. */
export const BUCKET_SWEEP_MS = 60_000;
