/** Why: every bound of the relay with its reason. Sections are those of cloud.md; what both ends of a tunnel share is in libs/tunnel. */

// ── tunnel clients ───────────────────────────────────────────────────────────────────────────────

/** From accepting a socket to the client's answer: clients wait as long (§2.3). */
export const HANDSHAKE_MS = 5_000;
/** Handshakes under way at one time: each holds a socket of somebody who has not shown anything yet. */
export const HANDSHAKES_MAX = 1_000;
/** Handshakes of one network in a minute (T26): many replicas behind one address reconnect within it. */
export const HANDSHAKES_PER_MINUTE = 30;
/** Networks whose handshakes are counted; the one heard of longest ago is forgotten. */
export const NETWORKS_MAX = 20_000;
/** Headers of a client's answer to the handshake (T26). */
export const HELLO_BYTES_MAX = 16 * 1024;
/** Connections of all environments together: the relay's own budget. */
export const CONNECTIONS_MAX = 8_192;
/** Of one name, whatever the plan says (§2.3); a plan that allows fewer connections allows a name half of them. */
export const CONNECTIONS_PER_NAME_MAX = 64;
/** After a refusal the client gets so long to read it. */
export const REFUSED_LINGER_MS = 1_000;
/** Between two questions whether a client is well, how long its answer may take, and how many may be missing (§2.4). */
export const HEALTH_EVERY_MS = 30_000;
export const HEALTH_TIMEOUT_MS = 10_000;
export const HEALTH_MISSED_MAX = 2;
/** Credentials of open tunnels are asked about again this often (§2.7: closed within 60 s); news make it at once. */
export const REAUTHORISE_MS = 30_000;
/** So long a tunnel lives on while tenancy cannot be asked. */
export const STALE_MS = 300_000;
/** Native memory of one connection, in megabytes: what a client may make us hold. */
export const SESSION_MEMORY_MEGABYTES = 32;
export const STREAM_WINDOW_BYTES = 1024 * 1024;
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** Lines for the audit log of one environment in ten minutes, of refused tunnels and of others each: enough for a deployment of many replicas. */
export const AUDIT_LINES_PER_WINDOW = 100;
export const AUDIT_WINDOW_MS = 600_000;
/** Lines that tenancy has not taken yet, of all environments: a relay that cannot report keeps no more. */
export const AUDIT_WAITING_MAX = 1_000;
/** Environments whose lines are counted; the one heard of longest ago is forgotten. */
export const AUDIT_ENVIRONMENTS_MAX = 20_000;

// ── draining ─────────────────────────────────────────────────────────────────────────────────────

/** Between telling clients to open another connection and closing this one to new requests (§2.7). */
export const DRAIN_NOTICE_MS = 1_000;
/** Requests under way may finish for so long. */
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
/** Said with 503. */
export const RETRY_AFTER_SECONDS = 5;
/**
 * The beginning of a request is kept until something answers, so that it can be sent again when a client says that it has not
 * executed it (§2.5). Longer ones are not: their runtime tries again.
 */
export const REPLAYED_BYTES_MAX = 64 * 1024;
/** What an environment that goes slowly may be ahead of its rate, as time: one chunk of a stream. */
export const THROTTLED_BURST_MS = 100;
/** Environments that go slowly and are remembered. */
export const THROTTLED_MAX = 10_000;
/** How long a header section from a runtime may take. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Idle connections of runtimes. */
export const IDLE_CONNECTION_MS = 120_000;

// ── other relays ─────────────────────────────────────────────────────────────────────────────────

/** Asking one whether it holds a name. */
export const PEER_QUESTION_MS = 2_000;
/** How long it is believed that a peer holds a name. */
export const PEER_HOLDS_MS = 5_000;
/** Names of which that is believed. */
export const PEER_NAMES_MAX = 10_000;

// ── what is remembered ───────────────────────────────────────────────────────────────────────────

/** Facts of an environment, and whose token it is: believed for so long unless news come. */
export const CACHED_MS = 30_000;
export const ENVIRONMENTS_MAX = 20_000;
export const TOKENS_MAX = 20_000;
/** Questions to tenancy about either that are under way: as many as handshakes, and nothing waits for an answer that does not come. */
export const LOOKUPS_MAX = 1_000;
/** What is nobody's is believed more briefly: it may have been made meanwhile. */
export const UNKNOWN_MS = 2_000;

// ── reports ──────────────────────────────────────────────────────────────────────────────────────

/** Tenancy forgets the tunnels of a relay that says nothing for 30 s. */
export const REPORT_MS = 10_000;
/** After a connection opened or closed, so that many of them make one report. */
export const REPORT_SOON_MS = 200;
export const REPORTS_PER_MESSAGE = 500;
/** After a whole answer, the rest of a request may come for so long: clients may fail on a reset before they have read the answer. */
export const LINGER_MS = 2_000;
