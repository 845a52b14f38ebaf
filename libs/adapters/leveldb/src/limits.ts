/** Bounds of the LevelDB driver, each with its reason. */

/**
 * Parts of a row from this size go to a blob file. Below it a file of its own, with two calls of fsync, costs more than LevelDB's log,
 * checksum and compactions.
 */
export const BLOB_BYTES_MIN = 256 * 1024;
/** Payloads that wait to be written share one file up to this size: one file costs as many calls of fsync as ten small ones. */
export const BLOB_GROUP_BYTES_MAX = 4 * 1024 * 1024;
/** Written and checksummed in one piece: less than a millisecond of the event loop. */
export const BLOB_PIECE_BYTES = 2 * 1024 * 1024;
/** Interval of checking whether the reads that may still need a free file have ended. */
export const BLOB_REMOVE_RETRY_MS = 200;
/** Time for which files of an unfinished read are kept: longer than any SQL statement, but a crashed thread must not keep files forever. */
export const BLOB_HELD_MS_MAX = 5 * 60_000;
/** Bytes of payloads read ahead for one page of a scan; a page has at least one payload. */
export const BLOB_PAGE_BYTES_MAX = 4 * 1024 * 1024;
