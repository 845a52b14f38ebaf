/** Bounds of talking to an API server, each with the reason for its value. */

/** Objects in one page of a list, as in the API server's own tools. */
export const PAGE_OBJECTS = 500;
/** An answer that has not come by then will not: the API server itself gives up after a minute. */
export const ANSWER_MS_MAX = 60_000;
/**
 * Idle connections are closed after this time: long enough that the requests of one reconciliation share a handshake, and short enough that
 * a request seldom takes a connection on which the network drops everything, which it would notice only by its timeout.
 */
export const CONNECTION_IDLE_MS = 1_000;
/** A watch without any event for this time counts as broken: bookmarks arrive every minute. */
export const WATCH_IDLE_MS_MAX = 150_000;
/** Seconds after which the API server ends a watch; a new one every few minutes keeps servers evenly loaded. */
export const WATCH_SECONDS = 290;
/** Longest line of a watch (one object): the API server accepts requests of up to 3 MiB, and etcd 1.5 MiB. */
export const WATCH_LINE_CHARS_MAX = 8 * 1024 * 1024;
/** Largest response that is read into memory: a page of the largest objects. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Pauses between two tries of a list or watch, doubled each time, with chance. */
export const RELIST_FIRST_MS = 800;
export const RELIST_LONGEST_MS = 30_000;
/** A watch that lived for so long was well: the next failure counts as the first. */
export const WATCH_WELL_MS = 10_000;
/**
 * A watch that ends without an error this soon comes from an API server that shuts down or is overloaded; the next one waits, so that
 * requests do not loop.
 */
export const WATCH_SHORT_MS = 1_000;
/** Interval at which all objects are reconciled without any change; spread by a tenth, so that they do not all come at once. */
export const RESYNC_MS = 600_000;
export const RESYNC_SPREAD = 0.1;
/** Pauses of one key of a work queue that keeps failing, doubled each time. */
export const RETRY_FIRST_MS = 1_000;
export const RETRY_LONGEST_MS = 300_000;
/** Keys that a queue returns per second in the long run, and at once: a starting cell must not overload its API server. */
export const KEYS_PER_SECOND = 20;
export const KEYS_AT_ONCE = 100;
/**
 * A key that waits longer than this gets one of every few places, whatever its priority: many changes delay the rest, and never stop it.
 */
export const AGED_MS = 30_000;
export const AGED_EVERY = 4;
/** A leader that has not renewed for so long may be replaced; it renews much more often, and gives up before. */
export const LEASE_MS = 15_000;
export const LEASE_RENEW_WITHIN_MS = 10_000;
export const LEASE_RETRY_MS = 2_000;
/** One event per object and reason in this time; repetitions are counted meanwhile. */
export const EVENT_EVERY_MS = 10_000;
/** Event series that are kept; the oldest is dropped first, and its next event begins a new series. */
export const EVENT_SERIES_MAX = 4_096;
/** The API server refuses longer notes. */
export const EVENT_NOTE_CHARS_MAX = 1_000;
