/** Bounds of talking to an API server, each with the reason for its value. */

/** Objects in one page of a list: what the API server's own tools ask for. */
export const PAGE_OBJECTS = 500;
/** An answer that has not come by then will not: the API server itself gives up after a minute. */
export const ANSWER_MS_MAX = 60_000;
/**
 * Connections that nobody uses are kept for so long: within a look a handshake would cost more than a request, and on one that lies idle
 * for long nobody notices that the network swallows everything, before a request has waited for its whole time.
 */
export const CONNECTION_IDLE_MS = 1_000;
/** A watch that is silent for so long is dead: bookmarks come every minute. */
export const WATCH_IDLE_MS_MAX = 150_000;
/** The API server ends a watch after this (seconds); a fresh one every few minutes keeps servers evenly loaded. */
export const WATCH_SECONDS = 290;
/** Of one object on a watch: the API server takes requests of up to 3 MiB, and etcd 1.5 MiB. */
export const WATCH_LINE_CHARS_MAX = 8 * 1024 * 1024;
/** Of an answer that is read into memory: a page of the largest objects we have. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Pauses between two tries of a list or watch, doubled each time, with chance. */
export const RELIST_FIRST_MS = 800;
export const RELIST_LONGEST_MS = 30_000;
/** A watch that lived for so long was well: the next failure counts as the first. */
export const WATCH_WELL_MS = 10_000;
/** One that ends in peace so soon is sent away by somebody who is going, or overloaded, and would be asked again without end. */
export const WATCH_SHORT_MS = 1_000;
/** Between two visits of everything without any change; spread by a tenth, so that not all come at once. */
export const RESYNC_MS = 600_000;
export const RESYNC_SPREAD = 0.1;
/** Pauses of one key of a work queue that keeps failing, doubled each time. */
export const RETRY_FIRST_MS = 1_000;
export const RETRY_LONGEST_MS = 300_000;
/** Keys that a queue hands out per second in the long run, and at once: a cell that starts must not drown its API server. */
export const KEYS_PER_SECOND = 20;
export const KEYS_AT_ONCE = 100;
/** A key that waits for longer than this gets one in so many places, whatever its priority: a crowd of changes delays the rest, and never stops it. */
export const AGED_MS = 30_000;
export const AGED_EVERY = 4;
/** A leader that has not renewed for so long may be replaced; it renews much more often, and gives up before. */
export const LEASE_MS = 15_000;
export const LEASE_RENEW_WITHIN_MS = 10_000;
export const LEASE_RETRY_MS = 2_000;
/** One event per object and reason in this time; repetitions are counted meanwhile. */
export const EVENT_EVERY_MS = 10_000;
/** Series of events that are remembered; the oldest is forgotten first, and begins anew. */
export const EVENT_SERIES_MAX = 4_096;
/** The API server refuses longer notes. */
export const EVENT_NOTE_CHARS_MAX = 1_000;
