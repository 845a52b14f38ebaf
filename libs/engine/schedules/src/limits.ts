/** Every bound of this package, each with the reason for its value. */

/** Largest jitter: more would be another time of day. */
export const JITTER_MS_MAX = 3_600_000;

/** Maximum number of schedules of one environment; all of them are kept in memory. */
export const SCHEDULES_MAX = 10_000;

/** Maximum bytes of one payload. Definitions are kept in memory; larger payloads should be sent as a reference. */
export const PAYLOAD_BYTES_MAX = 64 * 1024;

/** Maximum bytes of all payloads of one environment together. */
export const ALL_PAYLOADS_BYTES_MAX = 64 * 1024 * 1024;

/** Maximum number of headers of a schedule, and of characters of one name or value. */
export const HEADERS_MAX = 64;
export const HEADER_CHARS_MAX = 4096;

/** Maximum number of characters of names, keys and descriptions. */
export const NAME_CHARS_MAX = 128;
export const KEY_CHARS_MAX = 1024;
export const DESCRIPTION_CHARS_MAX = 1024;

/** Maximum number of times that may wait for the previous run under the policy `queue`; by default one. */
export const QUEUED_MAX = 100;
export const QUEUED_DEFAULT = 1;

/** Maximum number of missed times that catch-up `all` may fire; by default a hundred. */
export const CAUGHT_UP_MAX = 1000;
export const CAUGHT_UP_DEFAULT = 100;

/** Maximum of the catch-up window, which is a day by default. */
export const CATCH_UP_WINDOW_MS_MAX = 366 * 86_400_000;
export const CATCH_UP_WINDOW_MS_DEFAULT = 86_400_000;

/**
 * A time that is detected this late was missed (the server was down or suspended) and is subject to the catch-up policy; otherwise it
 * fires.
 */
export const OVERDUE_AFTER_MS = 10_000;

/**
 * Maximum number of missed times of one gap that are counted one by one; beyond it the counter is a lower bound. Keeps a restart short.
 */
export const MISSED_COUNTED_MAX = 1000;

/** Number of recent firings kept with a schedule: enough for a screen. */
export const RECENT_MAX = 20;

/**
 * Maximum number of firings of one schedule decided at once; the rest comes with the next batch, so that one schedule does not delay
 * others.
 */
export const TURN_FIRINGS_MAX = 64;

/** Maximum number of schedules that are acted upon at the same time; the others wait. */
export const TURNS_IN_FLIGHT_MAX = 256;

/** Maximum number of schedules whose new states are written together: what one metadata write may contain. */
export const RECORDED_TOGETHER_MAX = 1024;

/** Longest sleep of the engine, so that it detects a wall clock that was set and a machine that was suspended. */
export const SLEEP_MS_MAX = 60_000;

/** First and longest pause before a firing that could not be submitted is retried; it doubles in between. */
export const RETRY_FIRST_MS = 100;
export const RETRY_MAX_MS = 10_000;

/** Timeout of a partition's response to a submission, after which the partition counts as unavailable and the firing is retried. */
export const SUBMIT_TIMEOUT_MS = 10_000;

/** The result of a firing is kept at least this long, whatever its handler configures: it makes a second submission harmless. */
export const RETENTION_MS_MIN = 3_600_000;

/** Maximum number of times of one backfill: the request answers within seconds, and its list fits a response. */
export const BACKFILL_TIMES_MAX = 1000;

/** Times of a range that is too long are counted up to here; beyond it the count in the error is a lower bound. */
export const BACKFILL_COUNTED_MAX = 10_000;

/** Maximum number of times that are called together; the rest of a backfill comes with the next batch. */
export const BACKFILL_TOGETHER_MAX = 64;

/** Maximum number of listeners of a book; more means that a caller does not remove its listeners. */
export const LISTENERS_MAX = 64;
