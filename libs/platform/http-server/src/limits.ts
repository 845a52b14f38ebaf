/** Every bound of the HTTP kit, with the reason for its value. All can be overridden per port. */

/** Bytes of one request's header section: twice Node's default, enough for large tokens; more is an attack or a bug (431). */
export const headerBytesMaxDefault = 32 * 1024;

/** Time for a connection to send its first bytes and to finish a header section: no regular client needs ten seconds (slowloris). */
export const headersTimeoutMsDefault = 10_000;

/**
 * Node's own timeout for headers is this many times longer than that of `first-headers.ts`. It counts stalls of this process as the
 * client's time, and is the only one for the second and later requests of a connection.
 */
export const STALLED_FACTOR = 6;

/** Time for one whole HTTP/1.1 request to arrive, body included: 32 MiB in five minutes is 110 KiB/s. */
export const requestTimeoutMsDefault = 300_000;

/** Idle HTTP/1.1 connections are kept longer than common load balancers keep theirs (60 s), so that they close first. */
export const keepAliveTimeoutMsDefault = 75_000;

/** HTTP/2 connections without any traffic get a GOAWAY after this; streams that still wait continue. */
export const sessionIdleTimeoutMsDefault = 15 * 60_000;

/** Streams one HTTP/2 connection may have open: the published default of the ingress (ingress.md §1). */
export const concurrentStreamsMaxDefault = 200;

/** Sockets open at once on one port; further ones are refused by the kernel's backlog rules. Well below common fd limits. */
export const connectionsMaxDefault = 16_384;

/** MiB of headers and queued data one HTTP/2 connection may hold in the native library. */
export const sessionMemoryMiBMax = 64;

/** HTTP/2 flow-control window of a stream: an upload of a few hundred KiB goes through without a round trip. */
export const streamWindowBytes = 1024 * 1024;

/** HTTP/2 flow-control window of a connection: four streams at full window. */
export const connectionWindowBytes = 4 * 1024 * 1024;

/** TCP keep-alive probes start after this much silence: finds peers that vanished while they wait for a result. */
export const tcpKeepAliveMs = 30_000;

/** Interval at which connections that became idle are closed while draining. */
export const drainSweepMs = 50;

/** Time in which an idle connection may send one more request after draining has begun: a client in use sends it within a round trip. */
export const drainIdleMs = 250;

/** Bytes of a body that are read and dropped after an early answer to keep the connection of HTTP/1.1; above that it is closed. */
export const discardedBytesMaxDefault = 64 * 1024;

/** Answers up to this size are sent as text in one piece with the headers: one write instead of a gathered one. */
export const inlineAnswerBytesMax = 4096;

/** Interval at which connections of HTTP/2 with a guard are checked. */
export const guardSweepMs = 1_000;

/** A body from this size is collected with space in front of it, so that its receiver can write a header there instead of copying the body. */
export const BODY_SPACE_FROM_BYTES = 64 * 1024;
/** Enough for the headers of most requests; with longer ones the body is copied. */
export const BODY_SPACE_BYTES = 4 * 1024;

/** Time that a client that is still sending has to notice the answer and the request to close. */
export const lingerMsDefault = 2000;

/** Minimum average rate of a body, in bytes per second: a slower one holds memory for nothing (cloud.md §6.5). */
export const bodyBytesPerSecondMin = 256;

/** The average counts from this age on, so that a pause at the start is tolerated. */
export const bodyRateGraceMs = 30_000;

/** The average of a streamed body counts over windows of this length, since it may be paused in between. */
export const bodyRateWindowMs = 30_000;

/** Interval at which slow bodies are detected. */
export const bodySweepMs = 1000;

/** Maximum factor by which a body's buffer grows towards the length that the client announced: 64 KB may grow to 2 MB. */
export const announcedGrowthFactor = 32;
