/** Bounds and timings of the connections to endpoints. The protocol's published defaults (service-protocol §1.2), which SDK servers are tuned for. */

/** Timeout for opening a connection, TLS and the peer's first SETTINGS included. */
export const CONNECT_TIMEOUT_MS = 10_000;

/** It is waited for in steps of this length. A step that ends so long after its time is one in which this process stood … */
export const CONNECT_CHECK_MS = 1_000;
/** … and counts as so much, however long it was: the wait has an end on a machine that always stands. */
export const CONNECT_STOOD_MS = 100;

/** A PING is sent this often, so that a broken path is noticed while handlers are silent for minutes. */
export const PING_INTERVAL_MS = 40_000;
/** Each interval is up to this share longer or shorter, so that connections opened together do not ping together. */
export const PING_JITTER = 0.2;
/** Time without an answer to a PING after which the connection is closed. */
export const PING_TIMEOUT_MS = 20_000;

/** A connection without streams is closed after this long. */
export const IDLE_CLOSE_MS = 300_000;

/** Streams on one connection; further ones open another connection. The peer may allow fewer. */
export const STREAMS_PER_SESSION_MAX = 128;

/**
 * Streams that one connection serves. Their ids end at 2³¹, after which Node fails every further request on it; a busy connection would get
 * there within days.
 */
export const STREAMS_PER_SESSION_LIFETIME = 500_000_000;

/** Connections to one origin; a peer that allows one stream each must not cause a socket per invocation without end. */
export const SESSIONS_PER_ORIGIN_MAX = 64;

/** Streams waiting for a connection to one origin; more fail at once. Above any sensible concurrency limit of the invoker. */
export const WAITING_STREAMS_MAX = 16_384;

/** Flow-control windows for a peer: one large message fits a stream, two busy streams do not starve the others. */
export const STREAM_WINDOW_BYTES = 2 * 1024 * 1024;
export const CONNECTION_WINDOW_BYTES = 5 * 1024 * 1024;

/** Bytes a stream may be given before its connection exists, until `write` returns false. */
export const PENDING_WRITE_BYTES = 64 * 1024;

/** An endpoint may take so long to end its side of a connection that has ended in order. */
export const HALF_CLOSE_MS = 10_000;

/** Idle HTTP/1.1 sockets kept for one origin. */
export const IDLE_SOCKETS_MAX = 256;

/** Parsed base addresses remembered; a deployment's address is parsed once, not per attempt. */
export const ENDPOINT_CACHE_MAX = 1_024;
