/** Bounds of the clients, each with its reason. Milliseconds end in `Ms`. */

/** Timeout of one request of the management API: discovery and deploy checks take up to 90 s of it, all else milliseconds. */
export const ADMIN_REQUEST_MS = 120_000;
/** Longest answer kept in memory; larger SQL results need a LIMIT. */
export const ANSWER_BYTES_MAX = 128 * 1024 * 1024;
/** Sockets per host: command lines send one request at a time, pages of a console some. */
export const SOCKETS_MAX = 16;
/** Characters shown of an answer that is not one of the API: enough to recognise a proxy. */
export const SHOWN_CHARS_MAX = 300;
