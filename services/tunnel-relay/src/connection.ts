/**
 * One open tunnel on the relay: the client opened the connection, and the relay sends requests through it (cloud.md §2.1–2.7).
 *
 *     serving ─▸ notified (should open another connection; used only when no other serves the name) ─▸ draining (finishes its requests) ─▸
 * closed
 */
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { type Clock, handleErrors, type Logger, type Secret, type TimerHandle } from "@perdure/base";
import type { AuthenticatedCaller, EnvironmentId } from "@perdure/cloud";
import { DRAIN_PATH, HEALTH_PATH } from "@perdure/tunnel";
import {
  DRAIN_MS,
  DRAIN_NOTICE_MS,
  HEALTH_EVERY_MS,
  HEALTH_MISSED_MAX,
  HEALTH_TIMEOUT_MS,
  STREAMS_PER_NAME_MAX,
} from "./limits.js";

export interface ConnectionFacts {
  readonly environmentId: EnvironmentId;
  readonly name: string;
  /** Id of the connection, unique on this relay. */
  readonly id: string;
  readonly credential: Secret;
  readonly caller: AuthenticatedCaller;
  readonly supportsDrain: boolean;
  readonly supportsClientDrain: boolean;
  readonly workerId: string | undefined;
  readonly client: string | undefined;
  /** Ports that the client serves on its own machine; undefined: it did not declare any. */
  readonly ports: readonly number[] | undefined;
  /** First signing key of the environment when the handshake ended. */
  readonly signingPublicKey: string | undefined;
}

interface RelayConnectionPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onClosed: (connection: RelayConnection) => void;
}

export class RelayConnection {
  readonly facts: ConnectionFacts;
  readonly connectedAtMs: number;
  /** Monotonic time (ms) when tenancy last accepted the credential. */
  authorisedAtMs: number;
  readonly #session: ClientHttp2Session;
  readonly #socket: Duplex;
  readonly #ports: RelayConnectionPorts;
  #state: "serving" | "notified" | "draining" | "closed" = "serving";
  #inFlight = 0;
  #missed = 0;
  #health: TimerHandle | undefined;
  #timer: TimerHandle | undefined;

  constructor(session: ClientHttp2Session, socket: Duplex, facts: ConnectionFacts, ports: RelayConnectionPorts) {
    this.facts = facts;
    this.#session = session;
    this.#socket = socket;
    this.#ports = ports;
    this.connectedAtMs = ports.clock.nowMs();
    this.authorisedAtMs = ports.clock.monotonicMs();
    session.on("goaway", () => this.#clientLeaves());
    session.on("close", () => this.destroy("the client closed it"));
    socket.on("close", () => this.destroy("the client closed it"));
    this.#armHealth();
  }

  get environmentId(): EnvironmentId {
    return this.facts.environmentId;
  }

  get name(): string {
    return this.facts.name;
  }

  get ports(): readonly number[] | undefined {
    return this.facts.ports;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Priority for requests: 2 while serving, 1 when used only if no other connection serves the name, 0 when it takes none. */
  get rank(): 0 | 1 | 2 {
    if (this.#session.closed || this.#session.destroyed) return 0;
    return this.#state === "serving" ? 2 : this.#state === "notified" ? 1 : 0;
  }

  get isFull(): boolean {
    const allowed = this.#session.remoteSettings.maxConcurrentStreams ?? STREAMS_PER_NAME_MAX;
    return this.#inFlight >= Math.min(STREAMS_PER_NAME_MAX, allowed);
  }

  /** Sends a request of a runtime; undefined when the connection has just ended. */
  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream | undefined {
    if (this.rank === 0) return undefined;
    const stream = this.#session.request(headers, { endStream });
    handleErrors(stream); // `close` follows.
    this.#inFlight++;
    stream.once("close", this.#ended);
    return stream;
  }

  /** Call it when the client stops accepting requests, by an answer or by GOAWAY. */
  clientLeft(): void {
    this.#clientLeaves();
  }

  /**
   * Closes the connection without losing requests: sends the drain notice, a second later GOAWAY, then waits for the requests in flight.
   * Official CLIs reconnect only after GOAWAY (§2.7).
   */
  drain(drainMs: number = DRAIN_MS): void {
    if (this.#state !== "serving") return;
    this.#state = "notified";
    if (this.facts.supportsDrain) this.#sendControl(DRAIN_PATH, "POST");
    this.#timer = this.#ports.clock.setTimer(DRAIN_NOTICE_MS, () => this.#leave(drainMs));
  }

  /** Closes the connection and resets its requests at once, because its client may not use it any more. */
  destroy(reason: string): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#health?.cancel();
    this.#timer?.cancel();
    this.#session.destroy();
    this.#socket.destroy();
    const { environmentId, name, id } = this.facts;
    this.#ports.logger.info({ environmentId, tunnel: name, connection: id, reason }, "a tunnel is closed");
    this.#ports.onClosed(this);
  }

  readonly #ended = (): void => {
    this.#inFlight--;
    if (this.#inFlight === 0 && this.#state === "draining") this.#closeGently();
  };

  #leave(drainMs: number): void {
    if (this.#state !== "notified") return;
    this.#state = "draining";
    this.#health?.cancel();
    this.#session.goaway(constants.NGHTTP2_NO_ERROR);
    if (this.#inFlight === 0) this.#closeGently();
    else this.#timer = this.#ports.clock.setTimer(drainMs, () => this.destroy("its requests did not end in time"));
  }

  #clientLeaves(): void {
    if (this.#state !== "serving" && this.#state !== "notified") return;
    this.#state = "draining";
    this.#health?.cancel();
    this.#timer?.cancel();
    // The client closes once it has answered everything; the timer bounds the wait for a client that does not.
    this.#timer = this.#ports.clock.setTimer(DRAIN_MS, () => this.destroy("the client did not leave in time"));
  }

  #closeGently(): void {
    this.#timer?.cancel();
    this.#timer = this.#ports.clock.setTimer(DRAIN_NOTICE_MS, () => this.destroy("it was drained"));
    this.#session.close(() => this.destroy("it was drained"));
  }

  // ── health ─────────────────────────────────────────────────────────────────────────────────────

  #armHealth(): void {
    this.#health = this.#ports.clock.setTimer(HEALTH_EVERY_MS, () => {
      this.#sendControl(HEALTH_PATH, "GET", () => {
        this.#missed = 0;
      });
      if (this.#state !== "closed") this.#armHealth();
    });
  }

  /** Sends a control request; any response counts as an answer. */
  #sendControl(path: string, method: string, answered?: () => void): void {
    if (this.#session.closed || this.#session.destroyed) return;
    const stream = this.#session.request({ ":method": method, ":path": path, ":scheme": "http", ":authority": "tunnel-client" });
    handleErrors(stream, () => timeout.cancel()); // The connection broke; its `close` event follows.
    const timeout = this.#ports.clock.setTimer(HEALTH_TIMEOUT_MS, () => {
      stream.close(constants.NGHTTP2_CANCEL);
      if (answered !== undefined && ++this.#missed >= HEALTH_MISSED_MAX) this.destroy("the client does not answer");
    });
    stream.on("response", () => {
      timeout.cancel();
      answered?.();
    });
    stream.on("close", () => timeout.cancel());
    stream.resume();
  }
}
