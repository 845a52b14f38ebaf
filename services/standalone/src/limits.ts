/** Bounds of this process, each with its reason. */

/** Interval at which the size of the stores is compared with the limit: the limit may be exceeded by what a disk writes in this time. */
export const STORAGE_CHECK_MS = 1_000;
/** Once full, writes are accepted again below this share of the limit, so that the state does not change with every invocation. */
export const STORAGE_FREE_SHARE = 0.95;
/** Beyond this share of the limit handlers no longer run: until then running ones may end. */
export const STORAGE_HELD_SHARE = 1.1;
/** Minimum interval of compactions of deleted data while full: a compaction reads and writes all stored data. */
export const STORAGE_COMPACT_EVERY_MS = 60_000;
/** An attempt that was cut off requests a slot again after this. */
export const STORAGE_HELD_RETRY_MS = 1_000;
