/** Why: every bound of tunnels with its reason, for both ends of them (cloud.md §2.3–2.7). */

/** For connecting, and again for the handshake: whoever takes longer is given up. Official clients and servers do the same. */
export const HANDSHAKE_MS = 5_000;
/** Header block of requests and answers inside a tunnel: official clients announce so much. */
export const HEADER_BYTES_MAX = 16 * 1024;
/** Longest credential that is sent or read. */
export const CREDENTIAL_CHARS_MAX = 4_096;
/** Ids and versions that clients tell of themselves: they are shown, never parsed. */
export const LABEL_CHARS_MAX = 128;
/** Ports that a client declares. */
export const PORTS_MAX = 64;
/** Of host names (RFC 1035). */
export const HOST_CHARS_MAX = 253;

/** Bounds of the random pauses before a connection is tried again: a tunnel returns quickly, and does not overload a relay that is away. */
export const BACKOFF_BOUNDS = { firstMs: 20, longestMs: 30_000 } as const;
/** The same for SRV records that cannot be looked up. */
export const RESOLVE_RETRY_BOUNDS = { firstMs: 2_000, longestMs: 30_000 } as const;
/** A connection that lived so long was a good one: the next wait is the first again. */
export const BACKOFF_RESET_MS = 5_000;
/** Between two looks at the SRV records of relays. */
export const RESOLVE_EVERY_MS = 30_000;
/** Connections of one client, whatever SRV records say. */
export const SERVERS_MAX = 16;

/** Between two pings of a client: load balancers forget connections after a minute or more of silence. */
export const PING_EVERY_MS = 30_000;
/** How long an answer to a ping may take, and how many may be missing in a row. */
export const PING_TIMEOUT_MS = 10_000;
export const PINGS_MISSED_MAX = 2;

/** How long a connection that takes no new requests may finish those it has (cloud.md §2.7). */
export const DRAIN_MS = 120_000;

/** What was written when the last request ended leaves the process in this time; Node does not always tell. */
export const FLUSH_MS = 250;
/** A caller of a remote port may take so long to end its side of an HTTP/2 connection that has ended in order. */
export const LINGER_MS = 2_000;

/** Headers of a request to a remote port, of each one on its connection, take at most so long; with a stall of this process, which counts as well. */
export const HEADERS_TIMEOUT_MS = 60_000;
/** How often that is checked. */
export const HEADERS_CHECK_MS = 5_000;

/** What one stream may receive before anybody reads it, and all of a connection together. */
export const STREAM_WINDOW_BYTES = 1024 * 1024;
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** Requests of one connection at the same time; as the official in-process client. */
export const STREAMS_MAX = 4_096;
/** Memory that one HTTP/2 session may use, in megabytes, as Node counts it. */
export const SESSION_MEMORY_MEGABYTES = 64;

/** Idle time after which a connection to a local service is closed. */
export const LOCAL_IDLE_MS = 60_000;
/** Connecting to a local service: it is near. */
export const LOCAL_CONNECT_MS = 5_000;
/** Idle sockets kept for local services that speak HTTP/1.1, for each of them. */
export const LOCAL_SOCKETS_MAX = 64;

/** Verified signatures that are remembered: a runtime signs a path once in a second. */
export const SIGNATURES_MAX = 512;
/** Longest token that is looked at. */
export const TOKEN_CHARS_MAX = 4_096;
/** Addresses whose way through a tunnel is remembered. */
export const ROUTES_MAX = 4_096;
