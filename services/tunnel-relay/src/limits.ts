/**
 * Bounds of the relay, each with its reason. Sections are those of cloud.md; bounds that both ends of a tunnel share are in libs/platform/tunnel.
 */

// ── tunnel clients ───────────────────────────────────────────────────────────────────────────────

/** Time from accepting a socket to the client's answer; clients use the same timeout (§2.3). */
export const HANDSHAKE_MS = 5_000;
/** Handshakes in progress at one time: each holds a socket of a client that is not authenticated yet. */
export const HANDSHAKES_MAX = 1_000;
/** Handshakes of one network in a minute (T26): many replicas behind one address reconnect within it. */
export const HANDSHAKES_PER_MINUTE = 30;
/** Networks whose handshakes are counted; the least recently used one is evicted. */
export const NETWORKS_MAX = 20_000;
/** Headers of a client's answer to the handshake (T26). */
export const HELLO_BYTES_MAX = 16 * 1024;
/** Connections of all environments together: the relay's own budget. */
export const CONNECTIONS_MAX = 8_192;
/** Connections of one name under any plan (§2.3); a plan that allows fewer connections allows a name half of them. */
export const CONNECTIONS_PER_NAME_MAX = 64;
/** Time for the client to read a refusal before the socket is closed. */
export const REFUSED_LINGER_MS = 1_000;
/** Pause between health checks of a client, timeout of one, and how many may fail (§2.4). */
export const HEALTH_EVERY_MS = 30_000;
export const HEALTH_TIMEOUT_MS = 10_000;
export const HEALTH_MISSED_MAX = 2;
/** Interval of checking the credentials of open tunnels again (§2.7: closed within 60 s); a change event triggers the check at once. */
export const REAUTHORISE_MS = 30_000;
/** Time that a tunnel stays open without a successful check of its credential. */
export const STALE_MS = 300_000;
/** Native memory of one connection, in megabytes: bounds what a client can make the relay buffer. */
export const SESSION_MEMORY_MEGABYTES = 32;
export const STREAM_WINDOW_BYTES = 1024 * 1024;
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/**
 * Events for the audit log of one environment at once, and again within ten minutes, for refused tunnels and for others each: enough for a
 * deployment of many replicas.
 */
export const AUDIT_LINES_PER_WINDOW = 100;
export const AUDIT_WINDOW_MS = 600_000;
/** Unreported audit events of all environments; a relay that cannot reach tenancy keeps no more. */
export const AUDIT_WAITING_MAX = 1_000;
/** Environments whose audit events are counted; the least recently used one is evicted. */
export const AUDIT_ENVIRONMENTS_MAX = 20_000;

// ── draining ─────────────────────────────────────────────────────────────────────────────────────

/** Time between notifying clients to open another connection and closing this one to new requests (§2.7). */
export const DRAIN_NOTICE_MS = 1_000;
/** Time that requests in flight may take to finish. */
export const DRAIN_MS = 120_000;

// ── requests of runtimes ─────────────────────────────────────────────────────────────────────────

/** Requests of one tunnel's name at the same time (§2.6, 9). */
export const STREAMS_PER_NAME_MAX = 1_000;
/** Streams of one runtime's connection: a runtime has few connections and many attempts. */
export const STREAMS_PER_CALLER_MAX = 1_000;
/** Header block of a request or an answer: what clients announce. */
export const HEADER_BYTES_MAX = 16 * 1024;
/** Path and query. */
export const TARGET_CHARS_MAX = 8 * 1024;
/** Value of `Retry-After` in answers with 503. */
export const RETRY_AFTER_SECONDS = 5;
/**
 * The first bytes of a request are kept until an answer arrives, so that the request can be sent again when a client declines it without
 * executing it (§2.5). A longer request is not kept: its runtime retries.
 */
export const REPLAYED_BYTES_MAX = 64 * 1024;
/** Lead that a throttled environment may have over its rate, as time: one chunk of a stream. */
export const THROTTLED_BURST_MS = 100;
/** Throttled environments whose pace is kept. */
export const THROTTLED_MAX = 10_000;
/** Time that a header section from a runtime may take. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Idle connections of runtimes. */
export const IDLE_CONNECTION_MS = 120_000;

// ── other relays ─────────────────────────────────────────────────────────────────────────────────

/** Timeout of the request to a peer whether it holds a name. */
export const PEER_QUESTION_MS = 2_000;
/** Time for which the answer of a peer is cached. */
export const PEER_HOLDS_MS = 5_000;
/** Names in that cache. */
export const PEER_NAMES_MAX = 10_000;

/** Addresses behind the name of all relays are looked up again after this: relays are started and stopped within seconds. */
export const PEERS_LOOKUP_MS = 5_000;

// ── caches ─────────────────────────────────────────────────────────────────────────────────────

/** Time for which facts of an environment and the owner of a token are valid; a change event evicts them earlier. */
export const CACHED_MS = 30_000;
/** Part by which this is shortened at random: what a relay looks up when it starts must not expire together. */
export const CACHED_JITTER = 0.1;
export const ENVIRONMENTS_MAX = 20_000;
export const TOKENS_MAX = 20_000;
/** Look-ups of either at tenancy in progress: as many as handshakes; a further one fails at once instead of waiting. */
export const LOOKUPS_MAX = 1_000;
/** Environments and tokens that do not exist are cached for a shorter time, because they may be created meanwhile. */
export const UNKNOWN_MS = 2_000;

// ── reports ──────────────────────────────────────────────────────────────────────────────────────

/** Tenancy removes the tunnels of a relay that has not reported for 30 s. */
export const REPORT_MS = 10_000;
/** Delay of the report after a connection opened or closed, so that many changes make one report. */
export const REPORT_SOON_MS = 200;
export const REPORTS_PER_MESSAGE = 500;
/**
 * Time for which the rest of a request may arrive after the complete answer: clients may fail on a reset before they have read the answer.
 */
export const LINGER_MS = 2_000;
