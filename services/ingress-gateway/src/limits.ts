/** Every bound of the ingress, with the reason for its value. */

/** Largest request body, in bytes (`ingress.request-size-limit`): what a service may receive in one message. */
export const requestBytesMaxDefault = 32 * 1024 * 1024;

/** Bytes that all bodies being read may hold together; further requests receive 429. A quarter of a small pod's memory. */
export const bufferedBodyBytesMaxDefault = 512 * 1024 * 1024;

/** Time for one body to arrive. As the port's own limit for HTTP/1.1, here for HTTP/2 as well. */
export const bodyTimeoutMsDefault = 300_000;

/**
 * Bytes of a request line and headers over HTTP/1.1: a path of 64 KiB, as keys may be long, and 256 KiB of headers, which the reference
 * accepts. A gateway in front has a smaller limit of its own.
 */
export const headerBytesMax = 320 * 1024;

/** Header lines of one request. The reference's HTTP library stops at 100 too. */
export const headerLinesMax = 100;

/** Slashes in a path: fewer name no handler, more match no form (ingress.md §2). */
export const pathSlashesMin = 2;
export const pathSlashesMax = 7;

/** Running requests may finish for this long when the role stops (ingress.md §1). */
export const drainMsDefault = 5000;

/** Minimum interval of reads of the registries for requests without a route, so that a flood of them costs 20 reads a second. */
export const REFRESH_PAUSE_MS_MIN = 50;

/** Minimum interval as a multiple of the last read's duration: a tenth of a registry's time for one gateway. */
export const REFRESH_PAUSE_FACTOR = 9;

/** Requests that wait for such a read; further ones are refused by the local copy. They hold no body yet. */
export const REFRESH_WAITERS_MAX = 1_000;
