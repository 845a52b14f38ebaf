/** Every bound of the ingress, with the reason for its value. */

/** Largest request body, in bytes (`ingress.request-size-limit`): what a service may receive in one message. */
export const requestBytesMaxDefault = 32 * 1024 * 1024;

/** Bodies being read at one time may hold this many bytes together; further requests hear 429. A quarter of a small pod's memory. */
export const bufferedBodyBytesMaxDefault = 512 * 1024 * 1024;

/** Time for one body to arrive. As the port's own limit for HTTP/1.1, here for HTTP/2 as well. */
export const bodyTimeoutMsDefault = 300_000;

/** A body that comes slower than this on average, in bytes per second, holds memory for nothing (cloud.md §6.5). */
export const bodyBytesPerSecondMin = 256;

/** The average counts from here on, so that a pause at the start is forgiven. */
export const bodyRateGraceMs = 30_000;

/** How often slow bodies are looked for. */
export const bodySweepMs = 1000;

/**
 * Bytes of a request line and headers over HTTP/1.1: a path of 64 KiB, as keys may be long, and 256 KiB of headers, as the reference takes.
 * A gateway in front has a smaller limit of its own.
 */
export const headerBytesMax = 320 * 1024;

/** Header lines of one request. The reference's HTTP library stops at 100 too. */
export const headerLinesMax = 100;

/** After an early answer, so much of a body is read and dropped to keep the connection; beyond it the connection closes. */
export const discardBytesMax = 64 * 1024;

/** Results up to this size go out as text in one piece with the headers: one write instead of a gathered one. */
export const inlineResponseBytesMax = 4096;

/** Slashes in a path: fewer name no handler, more fit no form (ingress.md §2). */
export const pathSlashesMin = 2;
export const pathSlashesMax = 7;

/** Running requests may finish for so long when the role stops (ingress.md §1). */
export const drainMsDefault = 5000;

/** A client that is still sending when it is answered and told to close gets so long to read the answer. */
export const lingerMs = 2000;

/** Between two readings of the registries for requests that found no route: at least so long, so that a flood of them costs 20 a second. */
export const REFRESH_PAUSE_MS_MIN = 50;

/** And at least so many times what the last reading took: a tenth of a registry's time for one gateway. */
export const REFRESH_PAUSE_FACTOR = 9;

/** Requests that wait for such a reading; further ones are refused by what is known here. They hold no body yet. */
export const REFRESH_WAITERS_MAX = 1_000;

/** A body's buffer grows by this factor at most towards the length that the client announced: 64 KB make room for 2 MB. */
export const announcedGrowthFactor = 32;
