/** Bounds of a fork in a sandbox, with the reason for each value. */

/** Entries of the journal of a sandbox: they are in memory, and are sent again with each request. */
export const SANDBOX_ENTRIES_MAX = 20_000;

/** Bytes of that journal, for the same reason. */
export const SANDBOX_JOURNAL_BYTES_MAX = 32 * 1024 * 1024;

/** Requests to the endpoint: a handler needs one for each result that it awaits. */
export const SANDBOX_REQUESTS_MAX = 5_000;
