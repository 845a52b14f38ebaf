/** Bounds of tunnels for both ends, each with its reason (cloud.md §2.3–2.7). */

/** Timeout for connecting, and again for the handshake. Official clients and servers use the same. */
export const HANDSHAKE_MS = 5_000;
/** Header block of requests and answers inside a tunnel: the size that official clients announce. */
export const HEADER_BYTES_MAX = 16 * 1024;
/** Longest credential that is sent or read. */
export const CREDENTIAL_CHARS_MAX = 4_096;
/** Ids and versions that clients send: they are shown, never parsed. */
export const LABEL_CHARS_MAX = 128;
/** Ports that a client declares. */
export const PORTS_MAX = 64;
/** Characters of host names (RFC 1035). */
export const HOST_CHARS_MAX = 253;

/**
 * Bounds of the random pauses before a connection is retried: a tunnel reconnects quickly and does not overload a relay that is
 * unavailable.
 */
export const BACKOFF_BOUNDS = { firstMs: 20, longestMs: 30_000 } as const;
/** The same for SRV records that cannot be resolved. */
export const RESOLVE_RETRY_BOUNDS = { firstMs: 2_000, longestMs: 30_000 } as const;
/** Time of service after which a connection resets the backoff to its first pause. */
export const BACKOFF_RESET_MS = 5_000;
/** Interval of resolving the SRV records of relays. */
export const RESOLVE_EVERY_MS = 30_000;
/** Connections of one client, for any number of SRV records. */
export const SERVERS_MAX = 16;

/** Interval of pings of a client: load balancers drop connections after a minute or more without traffic. */
export const PING_EVERY_MS = 30_000;
/** Timeout of a ping, and how many may fail in a row. */
export const PING_TIMEOUT_MS = 10_000;
export const PINGS_MISSED_MAX = 2;

/** Time in which a connection that takes no new requests may finish those it has (cloud.md §2.7). */
export const DRAIN_MS = 120_000;

/** Time for the bytes of the last request to leave the process; Node does not always emit an event for it. */
export const FLUSH_MS = 250;

/** Bytes that one stream may receive before they are read, and all streams of a connection together. */
export const STREAM_WINDOW_BYTES = 1024 * 1024;
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** Concurrent requests of one connection; the same as the official in-process client. */
export const STREAMS_MAX = 4_096;
/** Memory that one HTTP/2 session may use, in megabytes, as Node counts it. */
export const SESSION_MEMORY_MEGABYTES = 64;

/** Idle time after which a connection to a local service is closed. */
export const LOCAL_IDLE_MS = 60_000;
/** Timeout of connecting to a local service, which is near. */
export const LOCAL_CONNECT_MS = 5_000;
/** Idle sockets kept for local services that speak HTTP/1.1, for each of them. */
export const LOCAL_SOCKETS_MAX = 64;

/** Verified signatures that are cached: a runtime signs a path once in a second. */
export const SIGNATURES_MAX = 512;
/** Length beyond which a token is refused without verification. */
export const TOKEN_CHARS_MAX = 4_096;
/** Addresses whose route is cached. */
export const ROUTES_MAX = 4_096;
