/** Bounds of the clients, each with its reason. Milliseconds end in `Ms`. */

/** One request of the management API: discovery and deploy checks take up to 90 s of it, everything else milliseconds. */
export const ADMIN_REQUEST_MS = 120_000;
/** Longest answer that is kept in memory; results of SQL beyond it want a LIMIT. */
export const ANSWER_BYTES_MAX = 128 * 1024 * 1024;
/** Sockets per host: people ask one thing at a time, pages of a console some. */
export const SOCKETS_MAX = 16;
/** Of an answer that is not of the API: enough to recognise a proxy by. */
export const SHOWN_CHARS_MAX = 300;
