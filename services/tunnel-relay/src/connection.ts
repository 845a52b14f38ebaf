/**
 * One tunnel, from our side: the client dialled, and now we ask and it answers (cloud.md §2.1–2.7).
 *
 *     serving ─▸ noticed (told to open another connection; still takes what nobody else can) ─▸ leaving (finishes what it has) ─▸ over
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
  /** Of the connection, unique here. */
  readonly id: string;
  readonly credential: Secret;
  readonly caller: AuthenticatedCaller;
  readonly supportsDrain: boolean;
  readonly supportsClientDrain: boolean;
  readonly workerId: string | undefined;
  readonly client: string | undefined;
  /** Ports it serves on its own machine; undefined: it does not say. */
  readonly ports: readonly number[] | undefined;
  /** Of the environment when it was let in. */
  readonly signingPublicKey: string | undefined;
}

export interface RelayConnectionPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onClosed: (connection: RelayConnection) => void;
}

export class RelayConnection {
  readonly facts: ConnectionFacts;
  readonly connectedAtMs: number;
  /** Against the monotonic clock: when its credential was last found good. */
  authorisedAtMs: number;
  readonly #session: ClientHttp2Session;
  readonly #socket: Duplex;
  readonly #ports: RelayConnectionPorts;
  #state: "serving" | "noticed" | "leaving" | "over" = "serving";
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

  /** Whether it takes requests: 2 gladly, 1 if nobody else does, 0 not at all. */
  get rank(): 0 | 1 | 2 {
    if (this.#session.closed || this.#session.destroyed) return 0;
    return this.#state === "serving" ? 2 : this.#state === "noticed" ? 1 : 0;
  }

  get isFull(): boolean {
    const allowed = this.#session.remoteSettings.maxConcurrentStreams ?? STREAMS_PER_NAME_MAX;
    return this.#inFlight >= Math.min(STREAMS_PER_NAME_MAX, allowed);
  }

  /** A request of a runtime; undefined when the connection ended this very moment. */
  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream | undefined {
    if (this.rank === 0) return undefined;
    const stream = this.#session.request(headers, { endStream });
    handleErrors(stream); // `close` follows.
    this.#inFlight++;
    stream.once("close", this.#ended);
    return stream;
  }

  /** The client said that it takes no more, in an answer or by GOAWAY. */
  clientLeft(): void {
    this.#clientLeaves();
  }

  /**
   * Our side wants it gone, without losing anything: notice, a second later GOAWAY, then the requests under way, then the end. Official
   * command lines dial again only at GOAWAY (§2.7).
   */
  drain(drainMs: number = DRAIN_MS): void {
    if (this.#state !== "serving") return;
    this.#state = "noticed";
    if (this.facts.supportsDrain) this.#sendControl(DRAIN_PATH, "POST");
    this.#timer = this.#ports.clock.setTimer(DRAIN_NOTICE_MS, () => this.#leave(drainMs));
  }

  /** At once, and with everything that runs on it: who is behind it has no right to be. */
  destroy(reason: string): void {
    if (this.#state === "over") return;
    this.#state = "over";
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
    if (this.#inFlight === 0 && this.#state === "leaving") this.#closeGently();
  };

  #leave(drainMs: number): void {
    if (this.#state !== "noticed") return;
    this.#state = "leaving";
    this.#health?.cancel();
    this.#session.goaway(constants.NGHTTP2_NO_ERROR);
    if (this.#inFlight === 0) this.#closeGently();
    else this.#timer = this.#ports.clock.setTimer(drainMs, () => this.destroy("its requests did not end in time"));
  }

  #clientLeaves(): void {
    if (this.#state !== "serving" && this.#state !== "noticed") return;
    this.#state = "leaving";
    this.#health?.cancel();
    this.#timer?.cancel();
    // The client closes once it has answered everything; one that does not is not waited for for ever.
    this.#timer = this.#ports.clock.setTimer(DRAIN_MS, () => this.destroy("the client did not leave in time"));
  }

  #closeGently(): void {
    this.#timer?.cancel();
    this.#timer = this.#ports.clock.setTimer(DRAIN_NOTICE_MS, () => this.destroy("it was drained"));
    this.#session.close(() => this.destroy("it was drained"));
  }

  // ── is it there? ───────────────────────────────────────────────────────────────────────────────

  #armHealth(): void {
    this.#health = this.#ports.clock.setTimer(HEALTH_EVERY_MS, () => {
      this.#sendControl(HEALTH_PATH, "GET", () => {
        this.#missed = 0;
      });
      if (this.#state !== "over") this.#armHealth();
    });
  }

  /** A control request; its answer says no more than that it came. */
  #sendControl(path: string, method: string, answered?: () => void): void {
    if (this.#session.closed || this.#session.destroyed) return;
    const stream = this.#session.request({ ":method": method, ":path": path, ":scheme": "http", ":authority": "tunnel-client" });
    handleErrors(stream, () => timeout.cancel()); // The connection broke: its `close` says so.
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
