/**
 * Every HTTP listener of the project works the same way: HTTP/1.1 and HTTP/2 on one TCP port, cleartext or TLS, bounded headers and
 * timeouts, and an end that lets running requests finish.
 */
import { type IncomingMessage, type ServerOptions, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Clock, handleErrors, type Logger, type TimerHandle } from "@perdure/base";
import { bindTo, type ListenAddress } from "./bind.js";
import { bridgeStreams } from "./bridge.js";
import type { ExchangeContext } from "./exchange.js";
import type { Protocol } from "./first-bytes.js";
import { FirstHeaders } from "./first-headers.js";
import { streamPassesGuard } from "./guard.js";
import { Http1Requests } from "./http1-requests.js";
import { Http1Server } from "./http1-server.js";
import { Http2Connections, type StreamHandler } from "./http2-connections.js";
import { Http2Exchange } from "./http2-exchange.js";
import * as limits from "./limits.js";
import type { HttpHandlers, HttpPortOptions } from "./options.js";
import { SecuredConnections } from "./secured.js";
import { sniffProtocol } from "./sniff.js";
import { plainErrorForm, refuseUnreadable, TOO_SLOW } from "./unreadable.js";

export interface HttpPort {
  /** Resolves once bound. Rejects with RT0004 when the address cannot be bound. */
  listen(address: ListenAddress): Promise<AddressInfo>;
  /** Accepts no new connections, and lets running requests finish, however long that takes. `close` may follow. */
  stop(): void;
  /**
   * Accepts no new connections; running requests may finish for `graceMs`, then all connections are cut. Every answer of HTTP/1.1 announces
   * that its connection ends (RFC 9112 §9.6), so a client that sends one request after the other learns it before the next. A further call
   * may shorten the time.
   */
  close(graceMs: number): Promise<void>;
  readonly closing: boolean;
}

export interface HttpPortDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createHttpPort(handlers: HttpHandlers, ports: HttpPortDependencies, options: HttpPortOptions = {}): HttpPort {
  return new Port(handlers, ports, options);
}

class Port implements HttpPort {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: HttpPortOptions;
  readonly #headersTimeoutMs: number;
  readonly #http1: Http1Server;
  readonly #http2: Http2Connections;
  readonly #secured: SecuredConnections | undefined;
  readonly #firstHeaders: FirstHeaders;
  /** Sockets whose first bytes have not arrived. */
  readonly #undecided = new Set<Socket>();
  #closed: Promise<void> | undefined;
  #deadline: { readonly atMs: number; readonly timer: TimerHandle } | undefined;

  constructor(handlers: HttpHandlers, { clock, logger }: HttpPortDependencies, options: HttpPortOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#options = options;
    const headersTimeoutMs = options.headersTimeoutMs ?? limits.headersTimeoutMsDefault;
    this.#headersTimeoutMs = headersTimeoutMs;
    const isClosing = (): boolean => this.#closed !== undefined;
    const exchangeContext: ExchangeContext = {
      clock,
      isSecure: options.certificates !== undefined,
      discardedBytesMax: options.discardedBytesMax ?? limits.discardedBytesMaxDefault,
      lingerMs: options.lingerMs ?? limits.lingerMsDefault,
    };
    this.#firstHeaders = new FirstHeaders(clock, headersTimeoutMs, (socket) =>
      refuseUnreadable(socket, TOO_SLOW, options.errorForm ?? plainErrorForm),
    );
    const http1 = new Http1Server(http1Options(options, headersTimeoutMs, isClosing), (socket) => this.#accept(socket));
    http1.maxConnections = options.connectionsMax ?? limits.connectionsMaxDefault;
    http1.maxHeadersCount = 0; // The header bytes are bounded; Node would cut off further lines silently.
    new Http1Requests(handlers, options, { clock, firstHeaders: this.#firstHeaders, exchangeContext, isClosing }).serve(http1);
    this.#http1 = http1;
    const answer = streamHandlerOf(handlers, http1, options, clock, exchangeContext);
    this.#http2 = new Http2Connections(options, answer, { clock, logger });
    if (options.certificates !== undefined) {
      const timeoutMs = options.handshakeTimeoutMs ?? headersTimeoutMs;
      const decided = (connection: Socket, protocol: Protocol): void => this.#handOver(connection, protocol);
      this.#secured = new SecuredConnections(options.certificates, { clock, logger, timeoutMs, decided });
    }
  }

  get closing(): boolean {
    return this.#closed !== undefined;
  }

  listen(address: ListenAddress): Promise<AddressInfo> {
    return bindTo(this.#http1, address, this.#logger);
  }

  stop(): void {
    this.#closed ??= this.#drain();
  }

  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#drain();
    if (graceMs <= 0) this.#cut();
    else this.#cutIn(graceMs);
    return this.#closed;
  }

  // ── connections ────────────────────────────────────────────────────────────────────────────────

  #accept(socket: Socket): void {
    handleErrors(socket);
    if (this.#options.admit?.(socket) === false) return void socket.destroy();
    if (this.#secured !== undefined) return this.#secured.accept(socket);
    this.#undecided.add(socket);
    socket.once("close", () => this.#undecided.delete(socket));
    sniffProtocol(socket, this.#headersTimeoutMs, (protocol) => {
      this.#undecided.delete(socket);
      this.#handOver(socket, protocol);
    });
  }

  #handOver(socket: Socket, protocol: Protocol): void {
    if (protocol === "h2c") return this.#http2.serve(socket);
    this.#firstHeaders.expect(socket);
    this.#http1.serve(socket);
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────

  async #drain(): Promise<void> {
    const stopped = new Promise<void>((resolve) => this.#http1.stopListening(resolve));
    this.#cutUndecided();
    this.#http2.leave();
    const sweepIdle = (): void => {
      this.#http1.closeIdleConnections();
      sweep = this.#clock.setTimer(limits.drainSweepMs, sweepIdle);
    };
    let sweep = this.#clock.setTimer(limits.drainIdleMs, sweepIdle);
    try {
      await stopped;
    } finally {
      this.#deadline?.timer.cancel();
      sweep.cancel();
      this.#firstHeaders.close();
      this.#http2.close();
      this.#http1.close(); // Also ends the server's own checks of connections.
    }
  }

  /** Cuts all connections after `graceMs`, unless they are to be cut before that. */
  #cutIn(graceMs: number): void {
    const atMs = this.#clock.monotonicMs() + graceMs;
    if (this.#deadline !== undefined && this.#deadline.atMs <= atMs) return;
    this.#deadline?.timer.cancel();
    this.#deadline = { atMs, timer: this.#clock.setTimer(graceMs, () => this.#cut()) };
  }

  #cut(): void {
    this.#http1.closeAllConnections();
    this.#http2.cut();
    this.#cutUndecided();
  }

  #cutUndecided(): void {
    for (const socket of this.#undecided) socket.destroy();
    this.#secured?.cut();
  }
}

function streamHandlerOf(
  handlers: HttpHandlers,
  http1: Http1Server,
  { guard }: HttpPortOptions,
  clock: Clock,
  exchangeContext: ExchangeContext,
): StreamHandler {
  if (!("exchange" in handlers) && handlers.stream === undefined) {
    return bridgeStreams((connection) => http1.serve(connection)); // Guarded as a request.
  }
  const answer: StreamHandler =
    "exchange" in handlers
      ? (stream, headers, flags, rawHeaders) =>
          handlers.exchange(new Http2Exchange(stream, headers, flags, rawHeaders, exchangeContext))
      : (stream, headers, flags, rawHeaders) => handlers.stream?.(stream, headers, flags, rawHeaders);
  if (guard === undefined) return answer;
  return (stream, headers, flags, rawHeaders) => {
    if (streamPassesGuard(guard, stream, headers, rawHeaders, clock)) answer(stream, headers, flags, rawHeaders);
  };
}

function http1Options(options: HttpPortOptions, headersTimeoutMs: number, isClosing: () => boolean) {
  class ClosableResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    /** Also where the request came before the end did. */
    override writeHead(...head: unknown[]): this {
      if (isClosing()) this.shouldKeepAlive = false;
      return (super.writeHead as (...head: unknown[]) => this)(...head);
    }
  }
  return {
    ServerResponse: ClosableResponse,
    maxHeaderSize: options.headerBytesMax ?? limits.headerBytesMaxDefault,
    headersTimeout: limits.STALLED_FACTOR * headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs ?? limits.requestTimeoutMsDefault,
    keepAliveTimeout: options.keepAliveTimeoutMs ?? limits.keepAliveTimeoutMsDefault,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    keepAlive: true,
    keepAliveInitialDelay: limits.tcpKeepAliveMs,
    noDelay: true,
    requireHostHeader: false, // It is refused here, with a reason.
  } satisfies ServerOptions;
}
