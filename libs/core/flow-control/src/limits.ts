/** Bounds of flow control, each with the reason for its value. */

/** Maximum number of admissions before the partition must make them durable: one commit, some milliseconds of work. */
export const ADMISSIONS_MAX = 256;

/** Interval at which buckets that are full again are deleted. Only memory and rows depend on it, so it need not be short. */
export const BUCKET_SWEEP_MS = 60_000;
