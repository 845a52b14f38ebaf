/** Why: everything has a bound; here are those of the command line, with their reasons. */

/** Of one request to the Cloud API or to an environment: the API answers within 10 s (cloud.md §1.3). */
export const REQUEST_MS_MAX = 20_000;

/** A file of settings or of `.env`: far more than anybody writes by hand. */
export const CONFIG_BYTES_MAX = 4 * 1_048_576;

/** How long to wait for another `perdure` that is writing the same file: a renewal of a token takes a request. */
export const LOCK_WAIT_MS_MAX = 30_000;
/** Between looks at a lock that somebody holds. */
export const LOCK_POLL_MS = 25;
/** A lock that is older belongs to nobody: no holder keeps it longer than a request takes. */
export const LOCK_AGE_MS_MAX = 60_000;

/** Access tokens with less time left are renewed before they are used (cloud.md §1.7). */
export const RENEW_BEFORE_MS = 10 * 60_000;

/** An environment that is not ready after that long will not be (cloud.md §5.2: p99 is 120 s). */
export const ACTIVE_WAIT_MS_MAX = 180_000;
/** Between looks at an environment that is being made. */
export const ACTIVE_POLL_MS = 500;

/** How far back logs are shown when nobody says. */
export const LOG_SINCE_S = 3_600;
/** Between looks at logs that are followed. */
export const LOG_POLL_MS = 2_000;

/** Events of `perdure audit list`; whoever wants more exports them. */
export const AUDIT_EVENTS_MAX = 10_000;

/** How long requests under way may take when a tunnel is told to end: whoever pressed Ctrl-C waits for it. */
export const DRAIN_ON_EXIT_MS = 10_000;
/** How long a tunnel may take to come up before `perdure link` says that it does not. */
export const TUNNEL_READY_MS_MAX = 30_000;
/** How long a registration may wait for the service to listen: it may be starting. */
export const SERVICE_WAIT_MS_MAX = 30_000;
/** Between looks whether a service listens by now. */
export const SERVICE_POLL_MS = 250;
/** For connecting to a service that is on this machine, or near. */
export const CONNECT_MS_MAX = 2_000;

/** The user waits after Tab: candidates that are not known by then are left out. */
export const COMPLETION_MS_MAX = 1_000;
/** More candidates fill the terminal. */
export const COMPLETION_VALUES_MAX = 100;
