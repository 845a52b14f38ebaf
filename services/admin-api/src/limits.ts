/** Why: every bound of this package in one place, each with the reason for its value. */

/** Requests answered at once. People and tools need a handful; the rest is somebody's loop. Over it: 429. */
export const REQUESTS_MAX = 1024;

/** Largest request body: the whole state of one key fits, as large as one message between server and endpoint may be. */
export const REQUEST_BODY_BYTES_MAX = 32 * 1024 * 1024;

/** Invocations one batch operation may name, as in the interface that the web UI expects. */
export const BATCH_INVOCATIONS_MAX = 1000;

/** Operations of one batch that are under way at the same time. */
export const BATCH_CONCURRENCY_MAX = 64;

/** Answers below this many bytes are sent as they are: compressing them makes them larger. */
export const COMPRESSED_BYTES_MIN = 32;

/** Changes of one request to the concurrency rules. */
export const RULE_CHANGES_MAX = 1000;

/** Highest concurrency a rule may name (an unsigned 32-bit number on the wire). */
export const RULE_CONCURRENCY_MAX = 4_294_967_295;
