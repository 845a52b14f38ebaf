/**
 * One connection to a relay. The client connects; then the relay sends requests and the client answers (cloud.md §2.1).
 *
 *     dialling ─▸ greeting ─▸ serving ─▸ draining (started by the relay or by this client) ─▸ over
 */
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { type Clock, causeMessage, handleErrors, present, type TimerHandle } from "@perdure/base";
import {
  DRAIN_PATH,
  DRAINING_HEADER,
  HEALTH_PATH,
  helloHeaders,
  parseWelcome,
  START_TUNNEL_PATH,
  type TunnelHello,
  type TunnelWelcome,
} from "../handshake.js";
import {
  CONNECTION_WINDOW_BYTES,
  DRAIN_MS,
  FLUSH_MS,
  HANDSHAKE_MS,
  HEADER_BYTES_MAX,
  PING_EVERY_MS,
  PING_TIMEOUT_MS,
  PINGS_MISSED_MAX,
  SESSION_MEMORY_MEGABYTES,
  STREAM_WINDOW_BYTES,
  STREAMS_MAX,
} from "../limits.js";
import { dial } from "./dial.js";
import { type ForwardPorts, forward } from "./forward.js";
import { answerError } from "./local-calls.js";
import type { RelayServer } from "./servers.js";

type ConnectionOutcome =
  /** The relay is draining: open another connection. This one finishes its requests. */
  | { readonly kind: "drained"; readonly servedMs: number }
  | { readonly kind: "lost"; readonly reason: string; readonly servedMs: number }
  | { readonly kind: "refused"; readonly status: Exclude<TunnelWelcome["status"], "ok"> | "name-changed" };

interface ConnectionPorts extends ForwardPorts {
  readonly server: RelayServer;
  readonly ca: string | undefined;
  readonly clock: Clock;
  readonly hello: () => Promise<TunnelHello>;
  readonly onServing: (welcome: TunnelWelcome & { readonly status: "ok" }) => void;
  /** Called when the connection is closed. */
  readonly onClosed: (connection: ClientConnection) => void;
}

export class ClientConnection {
  readonly #ports: ConnectionPorts;
  readonly #outcome = Promise.withResolvers<ConnectionOutcome>();
  readonly #abort = new AbortController();
  #state: "dialling" | "greeting" | "serving" | "draining" | "over" = "dialling";
  /** Whether the handshake request was answered with the credential. */
  #isGreeted = false;
  #hello: TunnelHello | undefined;
  #socket: Socket | undefined;
  #session: ServerHttp2Session | undefined;
  #servingSinceMs: number | undefined;
  #timer: TimerHandle | undefined;
  #missedPings = 0;
  #inFlight = 0;
  /** This client is draining: it answers new requests with the draining header. */
  #isLeaving = false;
  #onIdle: (() => void) | undefined;

  constructor(ports: ConnectionPorts) {
    this.#ports = ports;
  }

  get isServing(): boolean {
    return this.#state === "serving";
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Resolves when another connection should replace this one. Never rejects. */
  async run(): Promise<ConnectionOutcome> {
    const { server, ca, clock, hello } = this.#ports;
    try {
      this.#hello = await hello();
      const socket = await dial(server, ca, clock, this.#abort.signal);
      this.#serve(socket);
    } catch (cause) {
      this.#end(causeMessage(cause));
    }
    return this.#outcome.promise;
  }

  /** Takes no new requests; resolves when those in flight have ended, or after `drainMs`. */
  async leave(drainMs: number): Promise<void> {
    this.#isLeaving = true;
    if (this.#session === undefined || (this.#state !== "serving" && this.#state !== "draining"))
      return this.#end("the tunnel closes");
    this.#state = "draining";
    this.#session.goaway(constants.NGHTTP2_NO_ERROR);
    if (this.#inFlight > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      const timer = this.#ports.clock.setTimer(drainMs, resolve);
      await promise;
      timer.cancel();
    }
    await this.#closeGently();
  }

  #serve(socket: Socket): void {
    handleErrors(socket, (cause) => this.#end(cause.message));
    this.#socket = socket;
    if (this.#abort.signal.aborted) return this.#end("the tunnel closes");
    this.#state = "greeting";
    const session = performServerHandshake(socket, {
      settings: {
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxConcurrentStreams: STREAMS_MAX,
        maxHeaderListSize: HEADER_BYTES_MAX,
      },
      maxSessionMemory: SESSION_MEMORY_MEGABYTES,
    });
    handleErrors(session, (cause) => this.#end(cause.message));
    this.#session = session;
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.on("stream", (stream, headers) => {
      handleErrors(stream); // The code that reads the stream gets `close`.
      if (stream.destroyed || stream.closed) return void stream.destroy(); // The reset arrived with the request.
      this.#onRequest(stream, headers);
    });
    session.on("close", () => this.#end("the relay closed the connection"));
    socket.on("close", () => this.#end("the relay closed the connection"));
    this.#timer = this.#ports.clock.setTimer(HANDSHAKE_MS, () => this.#end(`no handshake within ${HANDSHAKE_MS / 1000} s`));
  }

  #onRequest(stream: ServerHttp2Stream, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    const path = headers[":path"];
    if (path === HEALTH_PATH) return answerOk(stream);
    if (path === DRAIN_PATH) {
      answerOk(stream);
      return this.#relayLeaves();
    }
    if (this.#state === "greeting" && !this.#isGreeted && path === START_TUNNEL_PATH) return this.#greet(stream);
    if (this.#isLeaving || (this.#state !== "serving" && this.#state !== "draining")) {
      return answerError(stream, 503, "this tunnel takes no requests now", { [DRAINING_HEADER]: "true" });
    }
    this.#inFlight++;
    stream.on("close", this.#answered);
    forward(this.#ports, stream, headers);
  }

  readonly #answered = (): void => {
    this.#inFlight--;
    if (this.#inFlight === 0) this.#onIdle?.();
  };

  #greet(stream: ServerHttp2Stream): void {
    const hello = present(this.#hello);
    this.#isGreeted = true;
    stream.on("trailers", (trailers) => this.#welcomed(parseWelcome(trailers), hello.name));
    stream.respond({ ":status": 200, ...helloHeaders(hello) });
    stream.end();
    stream.resume();
  }

  #welcomed(welcome: TunnelWelcome | undefined, name: string | undefined): void {
    if (this.#state !== "greeting") return;
    if (welcome === undefined) return this.#end("the handshake ended without a status");
    if (welcome.status !== "ok") return this.#end(welcome.status, { kind: "refused", status: welcome.status });
    if (name !== undefined && welcome.name !== name)
      return this.#end("name changed", { kind: "refused", status: "name-changed" });
    this.#state = "serving";
    this.#servingSinceMs = this.#ports.clock.monotonicMs();
    this.#timer?.cancel();
    this.#armPing();
    this.#ports.onServing(welcome);
  }

  #relayLeaves(): void {
    if (this.#state !== "serving") return;
    this.#state = "draining";
    this.#timer?.cancel();
    this.#timer = this.#ports.clock.setTimer(DRAIN_MS, () => this.#end("the relay did not finish its drain"));
    this.#outcome.resolve({ kind: "drained", servedMs: this.#servedMs() });
  }

  #armPing(): void {
    this.#timer = this.#ports.clock.setTimer(PING_EVERY_MS, () => {
      const timeout = this.#ports.clock.setTimer(PING_TIMEOUT_MS, () => this.#pingMissed());
      const isSent = this.#session?.ping(() => {
        timeout.cancel();
        this.#missedPings = 0;
      });
      if (isSent !== true) timeout.cancel();
      this.#armPing();
    });
  }

  #pingMissed(): void {
    if (this.#state === "over" || ++this.#missedPings < PINGS_MISSED_MAX) return;
    this.#end("the relay does not answer pings");
  }

  #servedMs(): number {
    return this.#servingSinceMs === undefined ? 0 : this.#ports.clock.monotonicMs() - this.#servingSinceMs;
  }

  /** Flushes written bytes before the socket is closed. */
  async #closeGently(): Promise<void> {
    const { clock } = this.#ports;
    const session = this.#session;
    const socket = this.#socket;
    if (session === undefined || socket === undefined || socket.destroyed) return this.#end("the tunnel closed");
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once("close", () => resolve());
    session.close();
    // A session that was closed before its socket ends in order.
    const flushed = clock.setTimer(FLUSH_MS, () => session.destroy());
    const timeout = clock.setTimer(HANDSHAKE_MS, resolve);
    await promise;
    for (const timer of [flushed, timeout]) timer.cancel();
    this.#end("the tunnel closed");
  }

  #end(reason: string, outcome?: ConnectionOutcome): void {
    if (this.#state === "over") return;
    this.#outcome.resolve(outcome ?? { kind: "lost", reason, servedMs: this.#servedMs() });
    this.#state = "over";
    this.#timer?.cancel();
    this.#abort.abort();
    this.#session?.destroy();
    this.#socket?.destroy();
    this.#onIdle?.();
    this.#ports.onClosed(this);
  }
}

function answerOk(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 200 }, { endStream: true });
  stream.resume();
}
