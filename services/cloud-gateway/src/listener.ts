/**
 * One TCP port of the gateway: HTTP/1.1 and HTTP/2, distinguished by the first bytes, or by ALPN with TLS (cloud.md §1.8).
 * Strict parsers, bounds for everything, and an answer in JSON even to bytes that are no request.
 */
import {
  createServer as createHttp1Server,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import {
  constants,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { boundHalfClose, type Clock, handleErrors, type Logger, PerdureError } from "@perdure/base";
import {
  boundHandshakes,
  type CertificateSource,
  FirstHeaders,
  httpLimits,
  isLeaving,
  sniffProtocol,
} from "@perdure/http-server";
import type { ConnectionCount } from "./connection-count.js";
import type { Exchange } from "./exchange.js";
import { Http1Exchange } from "./http1-exchange.js";
import { Http2Exchange } from "./http2-exchange.js";
import { Http2Guard } from "./http2-guard.js";
import * as limits from "./limits.js";
import { type GatewayRefusal, headersTooLarge, malformed, slowRequest } from "./refusal.js";
import type { RequestLine } from "./request-head.js";

export interface ListenerHandlers {
  /** A request. Must not throw. */
  request(exchange: Exchange, line: RequestLine): void;
  /** Received bytes are no valid request: returns the body of the answer, JSON. */
  unreadable(refused: GatewayRefusal): string;
  /** An HTTP/2 connection was closed because of the frames it sent. */
  flooded(): void;
}

export interface ListenerPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts the connections of all ports of the gateway. */
  readonly connections: ConnectionCount;
}

export interface HttpListener {
  /** Rejects with RT0004 when the address cannot be bound. `port` 0 takes a free one. */
  listen(address: { readonly host?: string; readonly port: number }): Promise<AddressInfo>;
  /** No new connections; running requests may finish for `graceMs`, then everything is cut. Idempotent. */
  close(graceMs: number): Promise<void>;
}

interface Http2Socket {
  /** Undefined until Node has created it. */
  readonly session: ServerHttp2Session | undefined;
  /** Monotonic time of the sweep that found the session destroyed. */
  readonly endedAtMs: number | undefined;
}

export function createListener(
  handlers: ListenerHandlers,
  certificates: CertificateSource | undefined,
  { clock, logger, connections }: ListenerPorts,
): HttpListener {
  const isSecure = certificates !== undefined;
  const http1 = isSecure ? secureServer(certificates, clock) : createHttp1Server(http1Options);
  const http2 = createHttp2Server(http2Options);
  const firstHeaders = new FirstHeaders(clock, limits.HEADERS_TIMEOUT_MS, (socket) => sayUnreadable(socket, slowRequest));
  const undecided = new Set<Socket>();
  /** Sockets of HTTP/2. A destroyed session keeps its socket until its last write is done, which a client that reads nothing prevents. */
  const http2Sockets = new Map<Socket, Http2Socket>();
  /** The socket whose session Node creates now. */
  let handedOver: Socket | undefined;
  const sessions = new Map<ServerHttp2Session, Http2Guard>();
  /** Requests of a connection that are not answered yet. */
  const pipelines = new WeakMap<Socket, Http1Pipeline>();
  let closed: Promise<void> | undefined;

  // ── connections ────────────────────────────────────────────────────────────────────────────────

  // The server only listens and counts; it gets a connection only after its first bytes proved to be HTTP/1.1.
  const event = isSecure ? "secureConnection" : "connection";
  const acceptHttp1 = http1.listeners(event) as ((connection: Duplex) => void)[];
  http1.removeAllListeners(event);
  if (isSecure) {
    http1.prependListener("connection", (socket: Socket) => {
      handleErrors(socket);
      connections.admit(socket);
    });
  }
  http1.on(event, (socket: Socket) => {
    handleErrors(socket);
    if (!isSecure && !connections.admit(socket)) return;
    if (isSecure) return handOver(socket, (socket as TLSSocket).alpnProtocol === "h2");
    undecided.add(socket);
    socket.once("close", () => undecided.delete(socket));
    sniffProtocol(socket, limits.HEADERS_TIMEOUT_MS, (protocol) => {
      undecided.delete(socket);
      handOver(socket, protocol === "h2c");
    });
  });
  http1.maxConnections = limits.CONNECTIONS_MAX;
  http1.maxHeadersCount = 0; // The header bytes are bounded; too many lines are counted and refused, not cut off silently.
  http1.on("tlsClientError", (cause: Error, socket: Socket) => {
    handleErrors(socket);
    logger.debug({ cause: cause.message }, "TLS handshake failed");
    socket.destroy();
  });

  function handOver(socket: Socket, isHttp2: boolean): void {
    if (isHttp2) {
      socket.allowHalfOpen = false; // HTTP/1.1 servers accept half-closed peers; an HTTP/2 peer that ends its side has left.
      boundHalfClose(socket, clock, limits.LINGER_MS);
      http2Sockets.set(socket, { session: undefined, endedAtMs: undefined });
      socket.once("close", () => http2Sockets.delete(socket));
      handedOver = socket;
      http2.emit("connection", socket);
      handedOver = undefined;
    } else {
      firstHeaders.expect(socket);
      for (const accept of acceptHttp1) accept.call(http1, socket);
    }
  }

  const serverNameOf = (socket: Socket): string | undefined => {
    const name = isSecure ? (socket as TLSSocket).servername : undefined;
    return typeof name === "string" && name !== "" ? name.toLowerCase() : undefined;
  };

  // ── HTTP/1.1 ───────────────────────────────────────────────────────────────────────────────────

  const onRequest = (req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void => {
    const socket = req.socket;
    firstHeaders.arrived(socket);
    if (isLeaving(socket)) return; // Pipelined behind an answer that closes.
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = { waiting: 0, last: undefined };
      pipelines.set(socket, pipeline);
    }
    if (++pipeline.waiting > limits.PIPELINED_MAX) return void socket.destroy();
    const exchange = new Http1Exchange(req, res, { isSecure, serverName: serverNameOf(socket), expectsContinue }, clock);
    pipeline.last = exchange;
    const own = pipeline;
    res.once("close", () => own.waiting--);
    handlers.request(exchange, {
      method: req.method ?? "",
      target: req.url ?? "",
      isHttp2: false,
      rawHeaders: req.rawHeaders,
    });
  };
  http1.on("request", (req, res) => onRequest(req, res, false));
  http1.on("checkContinue", (req, res) => onRequest(req, res, true));
  http1.on("checkExpectation", (req, res) => onRequest(req, res, false)); // An unknown `expect` is ignored.
  http1.on("connect", (_req, socket: Duplex) => {
    handleErrors(socket); // Node has removed its own listener, so this handler must handle errors.
    sayUnreadable(socket, malformed("This method is not supported"));
  });
  http1.on("clientError", (cause: NodeJS.ErrnoException, socket: Duplex) => {
    handleErrors(socket);
    const pipeline = pipelines.get(socket as Socket);
    if (!socket.writable) return void socket.destroy();
    if (cause.code === "ECONNRESET" || cause.code === "EPIPE") return void socket.destroy();
    // The client would take anything sent now for the answer to the pending request, so the answer must be that one.
    if (pipeline?.waiting === 1 && pipeline.last !== undefined) return pipeline.last.bodyBroke();
    if ((pipeline?.waiting ?? 0) > 0) return void socket.destroy();
    if (cause.code === "HPE_HEADER_OVERFLOW") return sayUnreadable(socket, headersTooLarge);
    if (cause.code === "ERR_HTTP_REQUEST_TIMEOUT") return sayUnreadable(socket, slowRequest);
    sayUnreadable(socket, malformed("This is not a request that can be read in one way only"));
  });

  function sayUnreadable(socket: Duplex, refused: GatewayRefusal): void {
    const body = handlers.unreadable(refused);
    const head = [
      `HTTP/1.1 ${refused.status} Refused`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      "connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
  }

  // ── HTTP/2 ─────────────────────────────────────────────────────────────────────────────────────

  http2.on("session", (session: ServerHttp2Session) => {
    handleErrors(session);
    if (handedOver !== undefined) http2Sockets.set(handedOver, { session, endedAtMs: undefined });
    const guard = new Http2Guard(session, clock, handlers.flooded);
    sessions.set(session, guard);
    session.once("close", () => sessions.delete(session));
    session.setLocalWindowSize(limits.CONNECTION_WINDOW_BYTES);
    // Not IdleSessions: this timer holds a broken session until it is due, and Node 24.21 aborts when such sessions are collected at once.
    session.setTimeout(limits.IDLE_CONNECTION_MS, () => {
      if (guard.isIdle) session.close();
    });
    if (closed !== undefined) session.close();
  });
  http2.on("sessionError", (cause: Error) => logger.debug({ cause: cause.message }, "HTTP/2 connection failed"));
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]): void => {
    // A connection error that arrived with the request has destroyed the session and this stream before Node emits `stream`.
    handleErrors(stream);
    const session = stream.session as ServerHttp2Session | undefined;
    const socket = session?.socket;
    if (session === undefined || socket === undefined) return void stream.destroy();
    sessions.get(session)?.opened(stream);
    if (stream.destroyed || stream.closed) return void stream.destroy(); // The reset arrived with the request.
    const exchange = new Http2Exchange(
      stream,
      {
        remoteAddress: socket.remoteAddress ?? "",
        isSecure,
        serverName: serverNameOf(socket as Socket),
        isHead: headers[":method"] === "HEAD",
        bodyExpected: (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0,
        expectsContinue: headers.expect === "100-continue",
      },
      clock,
    );
    handlers.request(exchange, { method: headers[":method"] ?? "", target: headers[":path"] ?? "", isHttp2: true, rawHeaders });
  };
  http2.on("stream", onStream as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) => void);

  let sweep = clock.setTimer(limits.SWEEP_MS, sweepSessions);
  function sweepSessions(): void {
    const nowMs = clock.monotonicMs();
    for (const guard of sessions.values()) guard.sweep(nowMs);
    for (const [socket, { session, endedAtMs }] of http2Sockets) {
      if (session?.destroyed !== true) continue;
      if (endedAtMs === undefined) http2Sockets.set(socket, { session, endedAtMs: nowMs });
      else if (nowMs - endedAtMs > limits.PING_TIMEOUT_MS) socket.destroy(); // Pending writes had time to finish.
    }
    sweep = clock.setTimer(limits.SWEEP_MS, sweepSessions);
  }

  // ── close ──────────────────────────────────────────────────────────────────────────────────────

  async function drain(graceMs: number): Promise<void> {
    const stopped = new Promise<void>((resolve) => http1.close(() => resolve()));
    for (const session of sessions.keys()) session.close();
    for (const socket of undecided) socket.destroy();
    const cut = clock.setTimer(graceMs, () => {
      http1.closeAllConnections();
      for (const session of sessions.keys()) session.destroy();
      for (const socket of http2Sockets.keys()) socket.destroy();
      for (const socket of undecided) socket.destroy();
    });
    let idle = clock.setTimer(DRAIN_SWEEP_MS, closeIdle);
    function closeIdle(): void {
      http1.closeIdleConnections();
      idle = clock.setTimer(DRAIN_SWEEP_MS, closeIdle);
    }
    http1.closeIdleConnections();
    await stopped;
    firstHeaders.close();
    for (const each of [cut, idle, sweep]) each.cancel();
  }

  return {
    listen: ({ host, port }) =>
      new Promise((resolve, reject) => {
        const failed = (cause: Error): void => {
          reject(new PerdureError("RT0004", `cannot listen on ${host ?? "*"}:${port}: ${cause.message}`, { cause }));
        };
        http1.once("error", failed);
        http1.listen({ port, host, backlog: 1024 }, () => {
          http1.off("error", failed);
          http1.on("error", (cause) => logger.warn({ cause: cause.message }, "listening socket failed"));
          resolve(http1.address() as AddressInfo);
        });
      }),
    close: (graceMs) => {
      closed ??= drain(graceMs);
      return closed;
    },
  };
}

/** Requests of one connection. */
interface Http1Pipeline {
  /** Requests without an answer so far. */
  waiting: number;
  last: Http1Exchange | undefined;
}

const DRAIN_SWEEP_MS = 50;

const http1Options: ServerOptions = {
  maxHeaderSize: limits.HEADER_BYTES_MAX,
  headersTimeout: httpLimits.STALLED_FACTOR * limits.HEADERS_TIMEOUT_MS,
  requestTimeout: 0, // Bodies have a least rate instead: a whole body may take its time.
  keepAliveTimeout: limits.IDLE_CONNECTION_MS,
  connectionsCheckingInterval: limits.SWEEP_MS,
  keepAlive: true,
  keepAliveInitialDelay: limits.KEEP_ALIVE_MS,
  noDelay: true,
  insecureHTTPParser: false,
  requireHostHeader: false, // The gateway refuses it itself, in JSON.
};

const http2Options = {
  maxSessionMemory: limits.SESSION_MEMORY_MIB_MAX,
  maxHeaderListPairs: limits.HTTP2_HEADER_PAIRS_MAX,
  streamResetBurst: limits.CONTROL_FRAMES_MAX,
  streamResetRate: (limits.CONTROL_FRAMES_MAX * 1000) / limits.CONTROL_WINDOW_MS,
  settings: {
    enablePush: false,
    initialWindowSize: limits.STREAM_WINDOW_BYTES,
    maxConcurrentStreams: limits.STREAMS_MAX,
    maxHeaderListSize: limits.HTTP2_HEADER_BYTES_MAX,
  },
} as const;

function secureServer(certificates: CertificateSource, clock: Clock): Server {
  const contextOf = ({ certificate, privateKey }: CertificateSource["current"]) => ({
    cert: certificate,
    key: privateKey,
    minVersion: "TLSv1.2" as const,
  });
  const server = createHttpsServer({
    ...http1Options,
    ...contextOf(certificates.current),
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: httpLimits.STALLED_FACTOR * limits.HANDSHAKE_TIMEOUT_MS,
  });
  boundHandshakes(server, clock, limits.HANDSHAKE_TIMEOUT_MS);
  certificates.onChange((certificate) => server.setSecureContext(contextOf(certificate)));
  return server as unknown as Server;
}
