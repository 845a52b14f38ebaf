/** Bounds of the commit log, each with its reason. */

/** The first segment of a start. Each next one is twice as large, so that a server that stores little writes few zeros. */
export const FIRST_SEGMENT_BYTES = 4 * 1024 * 1024;
/** Default of the largest segment: two of them bound what is replayed after a crash, about a second. */
export const SEGMENT_BYTES_MAX_DEFAULT = 32 * 1024 * 1024;
/** The setting cannot make segments smaller: each has a header of 4 KiB and needs a checkpoint. */
export const SEGMENT_BYTES_MIN = 64 * 1024;
/** The setting cannot make segments larger: a start after a crash has one in memory at a time. */
export const SEGMENT_BYTES_LIMIT = 1024 * 1024 * 1024;
/** The next segment is prepared once this part of the present one is used. */
export const PREPARE_AT = 0.5;
/** Bytes of changes that a replay passes to LevelDB at a time. */
export const REPLAYED_BYTES_MAX = 1024 * 1024;
/** Attempts to move LevelDB's memory into tables. One suffices unless LevelDB reports no error of its background thread. */
export const FLUSH_ATTEMPTS_MAX = 3;
/** Time for which a reader waits for the latest batch to become durable: longer than a slow disk takes, shorter than a statement may. */
export const DURABLE_WAIT_MS_MAX = 30_000;
