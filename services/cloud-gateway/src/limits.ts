/** Every bound of the cloud's gateway, with the reason for its value. Section numbers are those of cloud.md. */

// ── what a request may be ────────────────────────────────────────────────────────────────────────

/** Header lines of one request (§6.4): an HTTP client that needs more is broken or hostile (431). */
export const HEADER_LINES_MAX = 100;
/** Bytes of a request's header section, names and values (§6.4). */
export const HEADER_BYTES_MAX = 32 * 1024;
/** HTTP/2 lists are cut off here, above what is refused with 431, so that somebody a little over it hears why. */
export const HTTP2_HEADER_BYTES_MAX = 64 * 1024;
export const HTTP2_HEADER_PAIRS_MAX = 256;
/** Path and query: as much as a header section has room for beside a token. */
export const TARGET_CHARS_MAX = 16 * 1024;
/** No plan allows a larger body (§6.5): what a service may receive in one message. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024;
/**
 * Bodies whose declared length is at most this are read before the runtime is asked: one write instead of two, and a slow sender
 * holds no connection to the runtime. Longer ones, and those without a length, are streamed.
 */
export const GATHERED_BODY_BYTES_MAX = 16 * 1024;

// ── time ─────────────────────────────────────────────────────────────────────────────────────────

/** For a header section to arrive (§6.5, slowloris). */
export const HEADERS_TIMEOUT_MS = 10_000;
/** A TLS handshake takes a few round trips. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Of a connection without requests: longer than common load balancers keep theirs, so that they close first. */
export const IDLE_CONNECTION_MS = 75_000;
/** A body must come at this rate on average over the window (§6.5). */
export const BODY_BYTES_PER_SECOND_MIN = 256;
export const BODY_RATE_WINDOW_MS = 30_000;
/** A client that takes none of its answer for so long holds a connection to the runtime for nothing. */
export const STALLED_ANSWER_MS = 120_000;
/** Calls may wait for handlers for hours (§6.5); whoever needs longer attaches again. */
export const INGRESS_ANSWER_MS_MAX = 6 * 3_600_000;
/** The management API answers at once, queries excepted (§6.5). */
export const ADMIN_HEADERS_MS_MAX = 60_000;
/** How often the limits above are looked at: one timer for all requests. */
export const SWEEP_MS = 1_000;
/** A runtime is one hop away: what does not connect in this time does not answer. */
export const CONNECT_TIMEOUT_MS = 3_000;
/** Running requests may finish for so long when the gateway stops. */
export const DRAIN_MS = 30_000;
/** A client that is still sending when it is answered and told to close gets so long to read the answer. */
export const LINGER_MS = 2_000;

// ── connections ──────────────────────────────────────────────────────────────────────────────────

/** Sockets at one listener; well below common limits of file descriptors. */
export const CONNECTIONS_MAX = 16_384;
/** …of one network unless a setting says otherwise: a quarter, so that nobody alone shuts the door. */
export const CONNECTIONS_PER_NETWORK_MAX = 4_096;
/** Streams of one HTTP/2 connection (§6.5). */
export const STREAMS_MAX = 250;
/** Requests of one HTTP/1.1 connection that wait behind each other. Nobody honest pipelines; a flood would hold up everybody's turn. */
export const PIPELINED_MAX = 8;
/** Resets, PINGs or SETTINGS in a window beyond which an HTTP/2 connection is told to calm down and closed (§6.5). */
export const CONTROL_FRAMES_MAX = 100;
export const CONTROL_WINDOW_MS = 10_000;
/** MiB that one HTTP/2 connection may hold in the native library: header lists and queued data. */
export const SESSION_MEMORY_MIB_MAX = 16;
/** Flow control towards clients: what we may have to hold for one stream, and for one connection. */
export const STREAM_WINDOW_BYTES = 512 * 1024;
export const CONNECTION_WINDOW_BYTES = 2 * 1024 * 1024;
/** Peers that vanished are found by TCP probes and by PINGs after so much silence (§6.5). */
export const KEEP_ALIVE_MS = 30_000;
export const PING_TIMEOUT_MS = 20_000;

// ── runtimes ─────────────────────────────────────────────────────────────────────────────────────

/** Idle connections to a runtime are closed before the runtime does it (75 s): no request may meet a connection that is closing. */
export const UPSTREAM_IDLE_MS = 30_000;
/** Connections to a runtime that nobody calls are forgotten after this long. */
export const UPSTREAM_EVICT_MS = 300_000;
/** Header section of an answer. */
export const UPSTREAM_HEADER_BYTES_MAX = 64 * 1024;
/** Answers that must be read whole to be changed: lists of deployments for those who may not see their headers. */
export const REWRITTEN_BYTES_MAX = 32 * 1024 * 1024;
/** What the anonymous may ask is small. */
export const PUBLIC_ANSWER_BYTES_MAX = 64 * 1024;
/** How long an answer to `/version` serves everybody: it changes when a runtime is upgraded. */
export const VERSION_TTL_MS = 30_000;
export const HEALTH_TTL_MS = 1_000;

// ── what is remembered ───────────────────────────────────────────────────────────────────────────

/** Who a credential belongs to, and what an environment is (§4.4): believed for 30 s, and looked up anew before that. */
export const POSITIVE_TTL_MS = 30_000;
export const REFRESH_AFTER_MS = 20_000;
export const NEGATIVE_TTL_MS = 5_000;
/** While tenancy cannot be reached, what was known is believed for so long (§4.4). */
export const STALE_MS = 300_000;
/** …and tenancy is asked again at most so often for each. */
export const RETRY_MS = 1_000;
export const CALLERS_MAX = 100_000;
export const ENVIRONMENTS_MAX = 100_000;
/** Of those that are nobody's: fewer, so that guesses never push out what is known. */
export const UNKNOWN_ENTRIES_MAX = 10_000;
/** Questions to tenancy at one time; beyond them the door is overloaded, not tenancy. */
export const LOOKUPS_MAX = 1_000;

// ── fair shares ──────────────────────────────────────────────────────────────────────────────────

/** What one network may do; settings of the program may say otherwise. */
export interface NetworkLimits {
  /** Answers 401 at once, and per minute (§6.5). */
  readonly unauthorizedPerMinute: number;
  /**
   * Look-ups of credentials that may be under way: room for an office behind one address. A guesser gets so many beyond its allowance,
   * once, and owes them.
   */
  readonly lookupsMax: number;
  /** Anonymous questions (`/version`, health, preflights) at once, and per second; they never reach a runtime one by one. */
  readonly anonymousBurst: number;
  readonly anonymousPerSecond: number;
}

export const NETWORK_LIMITS: NetworkLimits = {
  unauthorizedPerMinute: 20,
  lookupsMax: 100,
  anonymousBurst: 100,
  anonymousPerSecond: 50,
};
/** Addresses remembered; the one heard of longest ago is forgotten, and starts anew. */
export const ADDRESSES_MAX = 50_000;
/** Requests of one environment that wait for its runtime at one time: many times what may run, since calls wait for results. */
export const IN_FLIGHT_PER_CONCURRENT = 10;
export const IN_FLIGHT_MIN = 200;
export const IN_FLIGHT_MAX = 10_000;
/**
 * What is forwarded in one turn of the event loop, in requests. A crowd gets no more answers than are forwarded, and asks no faster than
 * it is answered: so this is also how long a turn gets when the gateway is full, about half a millisecond for each.
 */
export const FORWARDS_PER_TURN = 8;
/** Each full piece of a declared body counts as one more request, up to a bound: it is copied through the same event loop. */
export const BYTES_PER_COST = 64 * 1024;
export const COST_MAX = 8;
/** Admitted requests of one environment that wait for their turn; lines empty by the turn, so more than this is a flood. */
export const LINE_MAX = 1_000;
/** Refusals that are answered at once; further ones of the same environment or address wait, and their connections with them. */
export const PROMPT_REFUSALS_BURST = 100;
export const PROMPT_REFUSALS_PER_SECOND = 50;
export const REFUSAL_DELAY_MS = 1_000;
/** Between two refusals that waited: 50 a second cost a hundredth of a processor, as many as came promptly. */
export const REFUSAL_SPACING_MS = 20;
/**
 * Refusals of one environment or address that wait, the last one for 21 s. Beyond them connections are dropped, which costs more than
 * to let them wait: whoever is dropped dials again.
 */
export const HELD_REFUSALS_MAX = 1_000;
export const HELD_REFUSALS_TOTAL_MAX = 20_000;
/** How often gateways tell each other, by tenancy, what they are asked (§6.5). */
export const RATE_SYNC_MS = 1_000;
/** Doors told of in one report; those above their share are few, and who is left out keeps what it has. */
export const DEMANDS_MAX = 1_000;
/** Keys with a rate of their own that are remembered; the one used longest ago is forgotten, and starts anew. */
export const KEY_BUCKETS_MAX = 100_000;

// ── sleepers ─────────────────────────────────────────────────────────────────────────────────────

/** A caller of a sleeper waits for so long, then it is told to come again (kubernetes.md §6). */
export const WAKE_HELD_MS = 10_000;
/** …after this long, in seconds: most are up by then. */
export const WAKE_RETRY_SECONDS = 5;
/** How often it is looked whether a sleeper is up; tenancy is asked only when it said so, or the last answer is older than `SLEEP_TTL_MS`. */
export const WAKE_POLL_MS = 100;
export const SLEEP_TTL_MS = 1_000;
/** One that still sleeps is asked for again: what was said before may be lost. */
export const WAKE_AGAIN_MS = 2_000;
/** Held requests of one environment: a crowd that all waited would meet a runtime that has just begun. */
export const HELD_PER_ENVIRONMENT_MAX = 100;
/** …of all: each holds a connection or a stream, and what arrived of its body with the headers. */
export const HELD_TOTAL_MAX = 2_000;

// ── usage ────────────────────────────────────────────────────────────────────────────────────────

/** How often what passed is told to tenancy; GetUsage shows it within a minute (§8, 72). */
export const REPORT_MS = 10_000;
/** Environments told of in one message. */
export const REPORTS_PER_MESSAGE = 500;
/** How often certificates are looked at by default; an automatic renewal comes weeks before the end. */
export const CERTIFICATE_CHECK_MS = 10_000;
/** Environments whose requests a gateway counts one by one: three series each, of some hundred bytes. */
export const ENVIRONMENTS_COUNTED_MAX = 1_000;
