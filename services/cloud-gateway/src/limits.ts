/** Every bound of the cloud's gateway, with the reason for its value. Section numbers are those of cloud.md. */

// ── what a request may be ────────────────────────────────────────────────────────────────────────

/** Header lines of one request (§6.4): an HTTP client that needs more is broken or hostile (431). */
export const HEADER_LINES_MAX = 100;
/** Bytes of a request's header section, names and values (§6.4). */
export const HEADER_BYTES_MAX = 32 * 1024;
/** HTTP/2 header lists are cut off here, above the bound for 431, so that a client slightly above that bound still gets the 431. */
export const HTTP2_HEADER_BYTES_MAX = 64 * 1024;
export const HTTP2_HEADER_PAIRS_MAX = 256;
/** Path and query: as long as fits into a header section beside a token. */
export const TARGET_CHARS_MAX = 16 * 1024;
/** Largest body of a request: no plan allows more (§6.5) than a service may receive in one message. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024;
/**
 * Bodies whose declared length is at most this are read before the runtime is contacted: one write instead of two, and a slow sender
 * occupies no connection to the runtime. Longer bodies, and those without a length, are streamed.
 */
export const GATHERED_BODY_BYTES_MAX = 16 * 1024;

// ── time ─────────────────────────────────────────────────────────────────────────────────────────

/** Timeout of a header section (§6.5, slowloris). */
export const HEADERS_TIMEOUT_MS = 10_000;
/** A TLS handshake takes a few round trips. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Timeout of a connection without requests: longer than that of common load balancers, so that they close first. */
export const IDLE_CONNECTION_MS = 75_000;
/** A client that reads nothing of its answer for this long occupies a connection to the runtime for nothing. */
export const STALLED_ANSWER_MS = 120_000;
/** Calls may wait for handlers for hours (§6.5); a client that needs longer attaches again. */
export const INGRESS_ANSWER_MS_MAX = 6 * 3_600_000;
/** The management API answers at once, queries excepted (§6.5). */
export const ADMIN_HEADERS_MS_MAX = 60_000;
/** Interval at which the limits above are checked: one timer for all requests. */
export const SWEEP_MS = 1_000;
/** A runtime is one hop away: when it does not connect within this time, it is unreachable. */
export const CONNECT_TIMEOUT_MS = 3_000;
/** Running requests may finish for so long when the gateway stops. */
export const DRAIN_MS = 30_000;

/** Time to read the answer for a client that still sends when the gateway answers with `connection: close`. */
export const LINGER_MS = 2_000;

// ── connections ──────────────────────────────────────────────────────────────────────────────────

/** Sockets at one listener; well below common limits of file descriptors. */
export const CONNECTIONS_MAX = 16_384;
/** Connections of one network by default: a quarter of all, so that one network cannot use up the listener. */
export const CONNECTIONS_PER_NETWORK_MAX = 4_096;
/** Streams of one HTTP/2 connection (§6.5). */
export const STREAMS_MAX = 250;
/** Requests of one HTTP/1.1 connection that wait behind each other. Honest clients do not pipeline; a flood would delay other tenants. */
export const PIPELINED_MAX = 8;
/** Resets, PINGs or SETTINGS in a window beyond which an HTTP/2 connection is closed with ENHANCE_YOUR_CALM (§6.5). */
export const CONTROL_FRAMES_MAX = 100;
export const CONTROL_WINDOW_MS = 10_000;
/** MiB that one HTTP/2 connection may hold in the native library: header lists and queued data. */
export const SESSION_MEMORY_MIB_MAX = 16;
/** Flow-control windows for clients: the most bytes that the gateway may have to buffer for one stream, and for one connection. */
export const STREAM_WINDOW_BYTES = 512 * 1024;
export const CONNECTION_WINDOW_BYTES = 2 * 1024 * 1024;
/** Peers that vanished are detected by TCP probes and by PINGs after this much silence (§6.5). */
export const KEEP_ALIVE_MS = 30_000;
export const PING_TIMEOUT_MS = 20_000;

// ── runtimes ─────────────────────────────────────────────────────────────────────────────────────

/** Idle connections to a runtime are closed before the runtime closes them (75 s): no request may use a connection that is closing. */
export const UPSTREAM_IDLE_MS = 30_000;
/** Connections to a runtime without requests are dropped after this long. */
export const UPSTREAM_EVICT_MS = 300_000;
/** Header section of an answer. */
export const UPSTREAM_HEADER_BYTES_MAX = 64 * 1024;
/** Bound of answers that must be read whole to be changed: lists of deployments for callers that may not see header values. */
export const REWRITTEN_BYTES_MAX = 32 * 1024 * 1024;
/** Answers to anonymous requests are small. */
export const PUBLIC_ANSWER_BYTES_MAX = 64 * 1024;
/** Time for which an answer to `/version` is served to all clients: it changes when a runtime is upgraded. */
export const VERSION_TTL_MS = 30_000;
export const HEALTH_TTL_MS = 1_000;

// ── caches ───────────────────────────────────────────────────────────────────────────────────────

/** Callers by credential, and facts of environments (§4.4): fresh for 30 s, and looked up again before that. */
export const POSITIVE_TTL_MS = 30_000;
export const REFRESH_AFTER_MS = 20_000;
export const NEGATIVE_TTL_MS = 5_000;
/** Time for which cached answers are used while tenancy cannot be reached (§4.4). */
export const STALE_MS = 300_000;
/** Part by which these times are shortened at random: after a gap in the change events everything is looked up again, but not at once. */
export const LOOKUP_JITTER = 0.1;
export const CALLERS_MAX = 100_000;
export const ENVIRONMENTS_MAX = 100_000;
/** Unknown credentials and environments: fewer, so that guesses never evict valid entries. */
export const UNKNOWN_ENTRIES_MAX = 10_000;
/** Concurrent requests to tenancy; beyond them the gateway is overloaded, not tenancy. */
export const LOOKUPS_MAX = 1_000;

// ── fair shares ──────────────────────────────────────────────────────────────────────────────────

/** Limits of one network; settings of the program may override them. */
export interface NetworkLimits {
  /** Answers 401 at once, and per minute (§6.5). */
  readonly unauthorizedPerMinute: number;
  /**
   * Concurrent look-ups of credentials: enough for an office behind one address. A client that guesses gets this many beyond its
   * allowance once, and its bucket is charged for them.
   */
  readonly lookupsMax: number;
  /** Anonymous requests (`/version`, health, preflights) at once, and per second; they never reach a runtime one by one. */
  readonly anonymousBurst: number;
  readonly anonymousPerSecond: number;
}

export const NETWORK_LIMITS: NetworkLimits = {
  unauthorizedPerMinute: 20,
  lookupsMax: 100,
  anonymousBurst: 100,
  anonymousPerSecond: 50,
};
/** Cached addresses; the least recently used one is evicted and starts with full buckets. */
export const ADDRESSES_MAX = 50_000;
/** Requests of one environment that wait for its runtime at one time: many times what may run, since calls wait for results. */
export const IN_FLIGHT_PER_CONCURRENT = 10;
export const IN_FLIGHT_MIN = 200;
export const IN_FLIGHT_MAX = 10_000;
/**
 * Requests that are forwarded in one turn of the event loop. Clients get no more answers than requests are forwarded, and most send the
 * next request after an answer: so this is also how long a turn gets when the gateway is full, about half a millisecond for each.
 */
export const FORWARDS_PER_TURN = 8;
/** Each full piece of a declared body counts as one more request, up to a bound: it is copied through the same event loop. */
export const BYTES_PER_COST = 64 * 1024;
export const COST_MAX = 8;
/** Admitted requests of one environment that wait for their turn; lines are emptied within turns, so more than this is a flood. */
export const LINE_MAX = 1_000;
/** Refusals that are answered at once; further ones of the same environment or address wait, and so do their connections. */
export const PROMPT_REFUSALS_BURST = 100;
export const PROMPT_REFUSALS_PER_SECOND = 50;
export const REFUSAL_DELAY_MS = 1_000;
/** Interval between refusals that waited: 50 a second cost a hundredth of a processor, as many as are answered promptly. */
export const REFUSAL_SPACING_MS = 20;
/**
 * Refusals of one environment or address that wait, the last one for 21 s. Beyond them connections are dropped, which costs more than
 * to let them wait: a dropped client connects again.
 */
export const HELD_REFUSALS_MAX = 1_000;
export const HELD_REFUSALS_TOTAL_MAX = 20_000;
/** Interval at which gateways exchange their demand through tenancy (§6.5). */
export const RATE_SYNC_MS = 1_000;
/** Endpoints in one report; few are above their share, and one that is left out keeps its share. */
export const DEMANDS_MAX = 1_000;
/** Keys with a rate of their own that are cached; the least recently used one is evicted and starts with a full bucket. */
export const KEY_BUCKETS_MAX = 100_000;

// ── hibernated environments ──────────────────────────────────────────────────────────────────────

/** A request to a hibernated environment is held for this long, then refused with `Retry-After` (kubernetes.md §6). */
export const WAKE_HELD_MS = 10_000;
/** `Retry-After` of that refusal, in seconds: most environments are up by then. */
export const WAKE_RETRY_SECONDS = 5;
/**
 * Interval of polls whether an environment is up; tenancy is requested only after a change event, or when the answer is older than
 * `SLEEP_TTL_MS`.
 */
export const WAKE_POLL_MS = 100;
export const SLEEP_TTL_MS = 1_000;
/** Interval at which the wake-up of an environment that is still asleep is requested again: the first request may be lost. */
export const WAKE_AGAIN_MS = 2_000;
/** Held requests of one environment: more would overload a runtime that has just started. */
export const HELD_PER_ENVIRONMENT_MAX = 100;
/** Held requests of all environments: each occupies a connection or a stream, and the part of its body that arrived with the headers. */
export const HELD_TOTAL_MAX = 2_000;

// ── usage ────────────────────────────────────────────────────────────────────────────────────────

/** Interval of usage reports to tenancy; GetUsage shows usage within a minute (§8, 72). */
export const REPORT_MS = 10_000;
/** Environments in one report. */
export const REPORTS_PER_MESSAGE = 500;
/** Environments with counters of their own: three series each, of some hundred bytes. */
export const ENVIRONMENTS_COUNTED_MAX = 1_000;
