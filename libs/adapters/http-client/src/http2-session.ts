/**
 * One HTTP/2 connection and its states: connecting until the peer's SETTINGS arrive, ready, draining after a GOAWAY, closed. It opens no
 * stream before the SETTINGS, which contain how many the peer allows.
 */
import type { Socket } from "node:net";
import { boundHalfClose, type Clock, type Random, type TimerHandle } from "@perdure/base";
import type { DnsLookup, EgressGuard } from "@perdure/egress";
import type { TransportFailure } from "@perdure/endpoint-transport";
import type { EndpointBase } from "./endpoint-base.js";
import { connectFailure, errorCodeOf, errorText } from "./failures.js";
import { type ConnectionReceiver, Http2Connection } from "./http2/connection.js";
import { Http2ProtocolError } from "./http2/protocol.js";
import type { Http2EndpointStream, StreamHost } from "./http2-stream.js";
import {
  CONNECT_CHECK_MS,
  CONNECT_STOOD_MS,
  CONNECT_TIMEOUT_MS,
  CONNECTION_WINDOW_BYTES,
  HALF_CLOSE_MS,
  IDLE_CLOSE_MS,
  PING_INTERVAL_MS,
  PING_JITTER,
  PING_TIMEOUT_MS,
  STREAM_WINDOW_BYTES,
  STREAMS_PER_SESSION_MAX,
} from "./limits.js";

export interface SessionOwner {
  /** There are free streams, or more of them. */
  onCapacity(session: PooledSession): void;
  /** The session opens no more streams; `failure` is the reason when it never opened any. Called once. */
  gone(session: PooledSession, failure: TransportFailure | undefined): void;
  /** The socket is closed; nothing of the session is left. Follows `gone`. */
  closed(session: PooledSession): void;
}

export interface SessionDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** PEM certificates to trust instead of the system's. */
  readonly trustedCertificates: string | undefined;
  readonly streamsPerSessionLifetime: number;
  /** False: connections stay open while the peer is stopped, in a debugger for example. */
  readonly sendsPings: boolean;
  /** Undefined: connections may go anywhere. */
  readonly guard: EgressGuard | undefined;
}

export class PooledSession implements StreamHost, ConnectionReceiver {
  readonly #base: EndpointBase;
  readonly #owner: SessionOwner;
  readonly #deps: SessionDeps;
  readonly #connection: Http2Connection;
  #isConnected = false;
  #state: "connecting" | "ready" | "draining" | "closed" = "connecting";
  #active = 0;
  /** Streams on which a large message is on its way. */
  #largeMessages = 0;
  #opened = 0;
  #idleSinceMs: number;
  #timer: TimerHandle;
  #pingTimeout: TimerHandle | undefined;

  /** @param lookup finds the addresses of the host, and only those that are allowed; undefined: the system's */
  constructor(base: EndpointBase, owner: SessionOwner, deps: SessionDeps, lookup: DnsLookup | undefined) {
    this.#base = base;
    this.#owner = owner;
    this.#deps = deps;
    this.#idleSinceMs = deps.clock.monotonicMs();
    this.#connection = new Http2Connection(
      {
        isSecure: base.secure,
        hostname: base.hostname,
        port: base.port,
        trustedCertificates: deps.trustedCertificates,
        lookup,
        streamWindowBytes: STREAM_WINDOW_BYTES,
        connectionWindowBytes: CONNECTION_WINDOW_BYTES,
      },
      this,
    );
    this.#timer = this.#awaitConnection(CONNECT_TIMEOUT_MS);
  }

  /**
   * Gives up after that long. A process that stood still (it was stopped, its machine slept, or its event loop was blocked) runs its due
   * timers before it reads the bytes that arrived meanwhile, so a step in which it stood still counts little.
   */
  #awaitConnection(leftMs: number): TimerHandle {
    const { clock } = this.#deps;
    const dueMs = clock.monotonicMs() + CONNECT_CHECK_MS;
    return clock.setTimer(CONNECT_CHECK_MS, () => {
      const stoodStill = clock.monotonicMs() - dueMs >= CONNECT_CHECK_MS;
      const stillLeftMs = leftMs - (stoodStill ? CONNECT_STOOD_MS : CONNECT_CHECK_MS);
      if (stillLeftMs > 0) this.#timer = this.#awaitConnection(stillLeftMs);
      else this.#giveUp(connectFailure(this.#base.authority, this.#whyNotConnected()));
    });
  }

  #whyNotConnected(): string {
    const missing = !this.#isConnected ? "it accepted no connection" : "it accepted a connection, but sent no SETTINGS";
    return `no HTTP/2 connection within ${CONNECT_TIMEOUT_MS / 1000} s: ${missing}`;
  }

  get connecting(): boolean {
    return this.#state === "connecting";
  }

  /** Streams that it opens at the same time, at least one; the limit of the peer applies once the session is ready. */
  get streamsMax(): number {
    if (this.#state !== "ready") return STREAMS_PER_SESSION_MAX;
    return Math.max(1, this.#allowed);
  }

  /** Streams it would take now. */
  get capacity(): number {
    return this.#state === "ready" && !this.#connection.isClosing ? this.#allowed - this.#active : 0;
  }

  get #allowed(): number {
    return Math.min(STREAMS_PER_SESSION_MAX, this.#connection.streamsMax);
  }

  /** A stream on this connection would wait behind a large message of another stream. */
  get isBusyWithLargeMessage(): boolean {
    return this.#largeMessages > 0;
  }

  /** Opens a stream. May only be called while the session has a free stream. */
  open(stream: Http2EndpointStream): void {
    this.#active++;
    const failure = stream.start(this.#connection, this);
    if (failure !== undefined) {
      this.#active--;
      stream.fail(failure);
    }
    if (++this.#opened >= this.#deps.streamsPerSessionLifetime) this.#retire();
  }

  /** Breaks the connection and all its streams. */
  destroy(): void {
    this.#giveUp(undefined);
  }

  /**
   * A peer that refuses streams on this connection may well accept them on another. Node's server refuses when too much is queued for one
   * connection, and never releases the bytes that were queued for a stream that the client broke off: with every stream sent there again,
   * all invocations of the endpoint would fail until the connection ends.
   */
  streamRefused(): void {
    this.#stopTaking();
  }

  largeMessage(isComing: boolean): void {
    this.#largeMessages += isComing ? 1 : -1;
  }

  streamClosed(): void {
    this.#active--;
    if (this.#active === 0) this.#idleSinceMs = this.#deps.clock.monotonicMs();
    this.#closeIfUnused();
    if (this.#state === "ready" && !this.#connection.isEnded) this.#owner.onCapacity(this);
  }

  // ── events of the connection ───────────────────────────────────────────────────────────────────

  connected(socket: Socket): void {
    this.#isConnected = true;
    boundHalfClose(socket, this.#deps.clock, HALF_CLOSE_MS);
  }

  settingsArrived(): void {
    if (this.#state === "ready") return this.#owner.onCapacity(this);
    if (this.#state !== "connecting") return;
    this.#state = "ready";
    this.#timer.cancel();
    this.#armKeepAlive();
    this.#owner.onCapacity(this);
  }

  goawayArrived(): void {
    this.#stopTaking(connectFailure(this.#base.authority, "the endpoint ended the connection before any request"));
    this.#closeIfUnused();
  }

  ended(cause: unknown): void {
    const { authority } = this.#base;
    const failure = connectFailure(authority, cause ?? "the connection was closed before any request");
    this.#stopTaking(this.#state === "connecting" ? handshakeFailure(authority, cause, failure) : failure);
  }

  socketClosed(): void {
    this.#state = "closed";
    this.#pingTimeout?.cancel();
    this.#timer.cancel();
    this.#owner.closed(this);
  }

  // ── keeping and ending ─────────────────────────────────────────────────────────────────────────

  #armKeepAlive(): void {
    const { clock, random } = this.#deps;
    const delayMs = PING_INTERVAL_MS * (1 + PING_JITTER * (2 * random.float() - 1));
    this.#timer = clock.setTimer(delayMs, () => this.#keepAlive());
  }

  /** Closes a connection that has been unused for long; otherwise pings the peer. */
  #keepAlive(): void {
    const { clock } = this.#deps;
    if (this.#active === 0 && clock.monotonicMs() - this.#idleSinceMs >= IDLE_CLOSE_MS) {
      return this.#retire();
    }
    if (!this.#deps.sendsPings) return this.#armKeepAlive();
    this.#pingTimeout = clock.setTimer(PING_TIMEOUT_MS, () => this.#giveUp(undefined, new Error("no answer to PING")));
    this.#connection.ping(() => {
      this.#pingTimeout?.cancel();
      this.#pingTimeout = undefined;
    });
    this.#armKeepAlive();
  }

  /** Closes once its streams have ended. */
  #retire(): void {
    this.#stopTaking();
    this.#closeIfUnused();
  }

  #closeIfUnused(): void {
    if (this.#state !== "draining" || this.#active > 0) return;
    this.#connection.close();
    this.#timer.cancel();
    this.#timer = this.#deps.clock.setTimer(HALF_CLOSE_MS, () => this.#giveUp(undefined)); // The last write may be stuck.
  }

  #giveUp(failure: TransportFailure | undefined, cause?: Error): void {
    this.#stopTaking(failure);
    this.#connection.destroy(cause);
  }

  #stopTaking(failure?: TransportFailure): void {
    if (this.#state !== "connecting" && this.#state !== "ready") return;
    if (this.#state === "connecting") this.#timer.cancel();
    this.#state = "draining";
    this.#owner.gone(this, this.#opened === 0 ? failure : undefined);
  }
}

/**
 * The reason why no HTTP/2 session came about. A peer that answers the HTTP/2 preface with something that is not HTTP/2, or refuses the
 * protocol during TLS, supports only an older one (META0014).
 */
function handshakeFailure(authority: string, cause: unknown, otherwise: TransportFailure): TransportFailure {
  const isOlder = cause instanceof Http2ProtocolError || errorCodeOf(cause) === "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL";
  return isOlder ? { kind: "http11Peer", message: `${authority} does not answer in HTTP/2: ${errorText(cause)}` } : otherwise;
}
