/** Bounds of the command line, each with its reason. */

/** Timeout of one request to the Cloud API or to an environment: the API answers within 10 s (cloud.md §1.3). */
export const REQUEST_MS_MAX = 20_000;

/** Largest file of settings or `.env`: far more than a user writes by hand. */
export const CONFIG_BYTES_MAX = 4 * 1_048_576;

/** Time to wait for another `perdure` that is writing the same file: a renewal of a token takes a request. */
export const LOCK_WAIT_MS_MAX = 30_000;
/** Pause between two attempts to take a lock. */
export const LOCK_POLL_MS = 25;
/** An older lock is stale: no process holds one longer than a request takes. */
export const LOCK_AGE_MS_MAX = 60_000;

/** Access tokens with less time left are renewed before they are used (cloud.md §1.7). */
export const RENEW_BEFORE_MS = 10 * 60_000;

/** An environment that is not ready after that long has failed (cloud.md §5.2: p99 is 120 s). */
export const ACTIVE_WAIT_MS_MAX = 180_000;
/** Pause between two polls of an environment that is being created. */
export const ACTIVE_POLL_MS = 500;

/** Default time range of logs. */
export const LOG_SINCE_S = 3_600;
/** Pause between two polls of followed logs. */
export const LOG_POLL_MS = 2_000;

/** Most events of `perdure audit list`; export them for more. */
export const AUDIT_EVENTS_MAX = 10_000;

/** Time for requests in progress when a tunnel closes: the user who pressed Ctrl-C waits for it. */
export const DRAIN_ON_EXIT_MS = 10_000;
/** Time until `perdure link` reports that a tunnel does not connect. */
export const TUNNEL_READY_MS_MAX = 30_000;
/** Time that a registration may wait for the service to listen: it may be starting. */
export const SERVICE_WAIT_MS_MAX = 30_000;
/** Pause between two checks whether a service listens. */
export const SERVICE_POLL_MS = 250;
/** Timeout of a connection to a service on this machine, or near. */
export const CONNECT_MS_MAX = 2_000;

/** The user waits after Tab: candidates that have not arrived by then are left out. */
export const COMPLETION_MS_MAX = 1_000;
/** Maximum number of candidates of a completion; more fill the terminal. */
export const COMPLETION_VALUES_MAX = 100;
