/**
 * Every HTTP listener of the project works the same way: HTTP/1.1 and HTTP/2 on one TCP port, cleartext or TLS, bounded headers and
 * timeouts, and an end that lets running requests finish.
 */
import { type IncomingMessage, type ServerOptions, ServerResponse } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { boundHalfClose, type Clock, handleErrors, type Logger, PerdureError } from "@perdure/base";
import { bridgeStreams } from "./bridge.js";
import type { CertificateSource } from "./certificates.js";
import { FirstHeaders } from "./first-headers.js";
import { guardedRequest, guardedStream, type RequestGuard } from "./guard.js";
import { Http1Server } from "./http1-server.js";
import { IdleSessions } from "./idle-sessions.js";
import * as limits from "./limits.js";
import { boundRestOfBody, isLeaving } from "./linger.js";
import { SecuredConnections } from "./secured.js";
import { type Protocol, sniffProtocol } from "./sniff.js";
import { type ErrorForm, lacksHost, plainErrorForm, refuseUnreadable, refuseWithoutHost } from "./unreadable.js";

/** Handlers of requests. They must not throw, and must watch the `close` event while they wait. */
export interface HttpHandlers {
  request(req: IncomingMessage, res: ServerResponse): void;
  /** A request with `expect: 100-continue`: call `res.writeContinue()` to receive the body. Unset: it is sent at once. */
  requestExpectingContinue?(req: IncomingMessage, res: ServerResponse): void;
  /** One HTTP/2 stream. Unset: it is translated to `request`. `rawHeaders` has pseudo-headers too, names in lower case. */
  stream?(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]): void;
}

/** Bounds of one port, all with a default from `limits.ts`; the names carry the unit. */
export interface HttpPortOptions {
  readonly headerBytesMax?: number;
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  readonly keepAliveTimeoutMs?: number;
  readonly sessionIdleTimeoutMs?: number;
  readonly concurrentStreamsMax?: number;
  readonly connectionsMax?: number;
  /** Form of the answer to a request that cannot be parsed. Default: `code` and `message`. */
  readonly errorForm?: ErrorForm;
  /** Checks each request before its handler. */
  readonly guard?: RequestGuard | undefined;
  /** With certificates the port accepts TLS alone (ALPN selects the HTTP version), and new connections get the current certificate. */
  readonly certificates?: CertificateSource | undefined;
}

/** `port` 0 takes a free one; without `host`, every address of the machine. */
export interface ListenAddress {
  readonly host?: string;
  readonly port: number;
}

export interface HttpPort {
  /** Resolves once bound. Rejects with RT0004 when the address cannot be bound. */
  listen(address: ListenAddress): Promise<AddressInfo>;
  /**
   * Accepts no new connections; running requests may finish for `graceMs`, then all connections are cut. Every answer of HTTP/1.1 announces
   * that its connection ends (RFC 9112 §9.6), so a client that sends one request after the other learns it before the next. Idempotent.
   */
  close(graceMs: number): Promise<void>;
  readonly closing: boolean;
}

/** Requests of one HTTP/1.1 connection that are not answered in full. */
interface Pipeline {
  waiting: number;
  newest: ServerResponse;
}

export interface HttpPortDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createHttpPort(
  unguarded: HttpHandlers,
  { clock, logger }: HttpPortDependencies,
  options: HttpPortOptions = {},
): HttpPort {
  const handlers = options.guard === undefined ? unguarded : guarded(options.guard, unguarded, clock);
  const headersTimeoutMs = options.headersTimeoutMs ?? limits.headersTimeoutMsDefault;
  const errorForm = options.errorForm ?? plainErrorForm;
  const undecided = new Set<Socket>();
  const firstHeaders = new FirstHeaders(clock, headersTimeoutMs);
  const sessions = new Set<Http2Session>();
  /** Sockets of HTTP/2. A destroyed session keeps its socket until its last write is done, which a client that reads nothing prevents. */
  const http2Sockets = new Set<Socket>();
  const sessionIdleTimeoutMs = options.sessionIdleTimeoutMs ?? limits.sessionIdleTimeoutMsDefault;
  const idleSessions = new IdleSessions(clock, sessionIdleTimeoutMs, (session) => session.close());
  let closed: Promise<void> | undefined;

  class ClosableResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    /** Also where the request came before the end did. */
    override writeHead(...head: unknown[]): this {
      if (closed !== undefined) this.shouldKeepAlive = false;
      return (super.writeHead as (...head: unknown[]) => this)(...head);
    }
  }
  const secured =
    options.certificates === undefined
      ? undefined
      : new SecuredConnections(options.certificates, { clock, logger, timeoutMs: headersTimeoutMs, decided: handOver });
  const http1 = new Http1Server({ ...http1Options(options, headersTimeoutMs), ServerResponse: ClosableResponse }, (socket) => {
    handleErrors(socket);
    if (secured !== undefined) return secured.accept(socket);
    undecided.add(socket);
    socket.once("close", () => undecided.delete(socket));
    sniffProtocol(socket, headersTimeoutMs, (protocol) => {
      undecided.delete(socket);
      handOver(socket, protocol);
    });
  });
  const pipelines = new WeakMap<Duplex, Pipeline>();
  http1.on("clientError", (cause: NodeJS.ErrnoException, socket: Duplex) => {
    handleErrors(socket);
    const pipeline = pipelines.get(socket);
    // Behind an answer that has begun, or before one to an earlier request, the client would read the refusal as part of it.
    const isAmbiguous =
      pipeline !== undefined && (pipeline.waiting > 1 || (pipeline.waiting === 1 && pipeline.newest.headersSent));
    if (!socket.writable || isAmbiguous || cause.code === "ECONNRESET") return void socket.destroy();
    const headerBytesMax = options.headerBytesMax ?? limits.headerBytesMaxDefault;
    refuseUnreadable(socket, cause, headerBytesMax, errorForm);
  });
  http1.maxConnections = options.connectionsMax ?? limits.connectionsMaxDefault;
  function begun(socket: Duplex, res: ServerResponse): void {
    const pipeline = pipelines.get(socket);
    if (pipeline === undefined) return void pipelines.set(socket, { waiting: 1, newest: res });
    pipeline.waiting++;
    pipeline.newest = res;
  }
  function answered(this: ServerResponse): void {
    const pipeline = pipelines.get(this.req.socket);
    if (pipeline !== undefined) pipeline.waiting--;
    if (!isLeaving(this.req.socket)) boundRestOfBody(this.req, clock, limits.lingerMsDefault);
  }
  const onRequest = (req: IncomingMessage, res: ServerResponse): void => {
    firstHeaders.arrived(req.socket);
    begun(req.socket, res);
    res.once("finish", answered);
    if (closed !== undefined) res.shouldKeepAlive = false; // express has a prototype of its own for answers.
    if (isLeaving(req.socket)) return; // Pipelined behind an answer that closes.
    if (lacksHost(req)) refuseWithoutHost(res, errorForm);
    else handlers.request(req, res);
  };
  http1.on("request", onRequest);
  http1.on("checkExpectation", onRequest); // An unknown `expect` is ignored; Node would refuse it with 417.
  const expecting = handlers.requestExpectingContinue;
  if (expecting !== undefined) {
    http1.on("checkContinue", (req, res) => {
      firstHeaders.arrived(req.socket);
      begun(req.socket, res);
      res.once("finish", answered);
      if (isLeaving(req.socket)) return;
      if (lacksHost(req)) refuseWithoutHost(res, errorForm);
      else expecting.call(handlers, req, res);
    });
  }

  const http2 = createHttp2Server({
    maxSessionMemory: limits.sessionMemoryMiBMax,
    settings: {
      enablePush: false,
      initialWindowSize: limits.streamWindowBytes,
      maxConcurrentStreams: options.concurrentStreamsMax ?? limits.concurrentStreamsMaxDefault,
      maxHeaderListSize: options.headerBytesMax ?? limits.headerBytesMaxDefault,
    },
  });
  http2.on("session", (session: ServerHttp2Session) => {
    handleErrors(session);
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.setLocalWindowSize(limits.connectionWindowBytes);
    idleSessions.watch(session);
    if (closed !== undefined) session.close();
  });
  http2.on("sessionError", (cause: Error) => logger.debug({ cause: cause.message }, "HTTP/2 connection failed"));
  const answer = handlers.stream?.bind(handlers) ?? bridgeStreams((connection) => http1.serve(connection));
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]): void => {
    // A reset or a connection error that arrived with the request has ended this stream before Node emits `stream`.
    handleErrors(stream);
    if (stream.destroyed || stream.closed) return void stream.destroy();
    answer(stream, headers, flags, rawHeaders);
  };
  http2.on("stream", onStream as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) => void);

  function handOver(socket: Socket, protocol: Protocol): void {
    if (protocol === "http/1.1") {
      firstHeaders.expect(socket);
      return http1.serve(socket);
    }
    socket.allowHalfOpen = false; // HTTP/1.1 servers accept half-closed peers; an HTTP/2 peer that ends is gone.
    boundHalfClose(socket, clock, limits.lingerMsDefault);
    http2Sockets.add(socket);
    socket.once("close", () => http2Sockets.delete(socket));
    http2.emit("connection", socket);
  }

  async function drain(graceMs: number): Promise<void> {
    const stopped = new Promise<void>((resolve) => http1.stopListening(resolve));
    const cutUndecided = (): void => {
      for (const socket of undecided) socket.destroy();
      secured?.cut();
    };
    cutUndecided();
    for (const session of sessions) session.close();
    const deadline = clock.setTimer(graceMs, () => {
      http1.closeAllConnections();
      for (const session of sessions) session.destroy();
      for (const socket of http2Sockets) socket.destroy();
      cutUndecided();
    });
    let sweep = clock.setTimer(Math.min(limits.drainIdleMs, graceMs), sweepIdle);
    function sweepIdle(): void {
      http1.closeIdleConnections();
      sweep = clock.setTimer(limits.drainSweepMs, sweepIdle);
    }
    try {
      await stopped;
    } finally {
      deadline.cancel();
      sweep.cancel();
      firstHeaders.close();
      idleSessions.close();
      http1.close(); // Also ends the server's own checks of connections.
    }
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
    get closing() {
      return closed !== undefined;
    },
  };
}

/** A stream that is translated to a request is guarded as that. */
function guarded(guard: RequestGuard, handlers: HttpHandlers, clock: Clock): HttpHandlers {
  const { requestExpectingContinue: expecting, stream } = handlers;
  return {
    request: guardedRequest(guard, handlers.request.bind(handlers), clock),
    ...(expecting === undefined ? {} : { requestExpectingContinue: guardedRequest(guard, expecting.bind(handlers), clock) }),
    ...(stream === undefined ? {} : { stream: guardedStream(guard, stream.bind(handlers), clock) }),
  };
}

function http1Options(options: HttpPortOptions, headersTimeoutMs: number): ServerOptions {
  return {
    maxHeaderSize: options.headerBytesMax ?? limits.headerBytesMaxDefault,
    headersTimeout: limits.STALLED_FACTOR * headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs ?? limits.requestTimeoutMsDefault,
    keepAliveTimeout: options.keepAliveTimeoutMs ?? limits.keepAliveTimeoutMsDefault,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    keepAlive: true,
    keepAliveInitialDelay: limits.tcpKeepAliveMs,
    noDelay: true,
    requireHostHeader: false, // It is refused here, with a reason.
  };
}
