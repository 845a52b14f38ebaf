/** Connections of HTTP/2: their sessions, their streams, and clients that vanish, idle or flood. */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { boundHalfClose, type Clock, handleErrors, type Logger, type TimerHandle } from "@perdure/base";
import { Http2Guard, type Http2GuardOptions } from "./http2-guard.js";
import { IdleSessions } from "./idle-sessions.js";
import * as limits from "./limits.js";
import type { HttpPortOptions } from "./options.js";

/** Called with each stream that is still open. */
export type StreamHandler = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

interface Http2Socket {
  /** Undefined until Node has created it. */
  readonly session: ServerHttp2Session | undefined;
  /** Monotonic time of the sweep that found the session destroyed. */
  readonly endedAtMs: number | undefined;
}

export class Http2Connections {
  readonly #clock: Clock;
  readonly #options: HttpPortOptions;
  readonly #guardOptions: Http2GuardOptions | undefined;
  readonly #server: ReturnType<typeof createServer>;
  /** Open sessions, with a guard if the port has one. */
  readonly #sessions = new Map<ServerHttp2Session, Http2Guard | undefined>();
  /** A destroyed session keeps its socket until its last write is done, which a client that reads nothing prevents. */
  readonly #sockets = new Map<Socket, Http2Socket>();
  readonly #idle: IdleSessions;
  /** The socket whose session Node creates now. */
  #handedOver: Socket | undefined;
  #isClosing = false;
  #sweep: TimerHandle | undefined;

  constructor(options: HttpPortOptions, answer: StreamHandler, { clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#options = options;
    this.#guardOptions = options.http2?.guard;
    this.#idle = new IdleSessions(clock, options.sessionIdleTimeoutMs ?? limits.sessionIdleTimeoutMsDefault, (session) =>
      this.#closeIdle(session),
    );
    this.#server = createServer(http2Options(options));
    this.#server.on("session", (session) => {
      handleErrors(session);
      this.#opened(session);
    });
    this.#server.on("sessionError", (cause: Error) => logger.debug({ cause: cause.message }, "HTTP/2 connection failed"));
    const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]): void => {
      // A reset or a connection error that arrived with the request has ended this stream before Node emits `stream`.
      handleErrors(stream);
      const session = stream.session as ServerHttp2Session | undefined;
      if (session !== undefined) this.#sessions.get(session)?.opened(stream);
      if (session?.socket === undefined || stream.destroyed || stream.closed) return void stream.destroy();
      answer(stream, headers, flags, rawHeaders);
    };
    this.#server.on("stream", onStream as (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) => void);
  }

  serve(socket: Socket): void {
    // Not before the first connection: a server that was not bound holds no timer.
    if (this.#guardOptions !== undefined) this.#sweep ??= this.#scheduleSweep(this.#guardOptions);
    socket.allowHalfOpen = false; // HTTP/1.1 servers accept half-closed peers; an HTTP/2 peer that ends its side has left.
    boundHalfClose(socket, this.#clock, limits.lingerMsDefault);
    this.#sockets.set(socket, { session: undefined, endedAtMs: undefined });
    socket.once("close", () => this.#sockets.delete(socket));
    this.#handedOver = socket;
    this.#server.emit("connection", socket); // As documented for connections from elsewhere.
    this.#handedOver = undefined;
  }

  /** Sends GOAWAY on all connections. */
  leave(): void {
    this.#isClosing = true;
    for (const session of this.#sessions.keys()) session.close();
  }

  cut(): void {
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  /** All connections have ended. */
  close(): void {
    this.#idle.close();
    this.#sweep?.cancel();
  }

  #opened(session: ServerHttp2Session): void {
    if (this.#handedOver !== undefined) this.#sockets.set(this.#handedOver, { session, endedAtMs: undefined });
    const guard = this.#guardOptions === undefined ? undefined : new Http2Guard(session, this.#clock, this.#guardOptions);
    this.#sessions.set(session, guard);
    session.once("close", () => this.#sessions.delete(session));
    session.setLocalWindowSize(this.#options.http2?.connectionWindowBytes ?? limits.connectionWindowBytes);
    this.#idle.watch(session);
    if (this.#isClosing) session.close();
  }

  /** Closes a session that is idle. With a guard, connections with open streams are checked by PINGs instead. */
  #closeIdle(session: ServerHttp2Session): void {
    if (this.#sessions.get(session)?.isIdle !== false) session.close();
  }

  #scheduleSweep(guardOptions: Http2GuardOptions): TimerHandle {
    const { pingTimeoutMs } = guardOptions;
    return this.#clock.setTimer(limits.guardSweepMs, () => {
      const nowMs = this.#clock.monotonicMs();
      for (const guard of this.#sessions.values()) guard?.sweep(nowMs);
      for (const [socket, { session, endedAtMs }] of this.#sockets) {
        if (session?.destroyed !== true) continue;
        if (endedAtMs === undefined) this.#sockets.set(socket, { session, endedAtMs: nowMs });
        else if (nowMs - endedAtMs > pingTimeoutMs) socket.destroy(); // Pending writes had time to finish.
      }
      this.#sweep = this.#scheduleSweep(guardOptions);
    });
  }
}

function http2Options({ http2 = {}, headerBytesMax, concurrentStreamsMax }: HttpPortOptions) {
  const { guard, headerPairsMax } = http2;
  return {
    maxSessionMemory: http2.sessionMemoryMiBMax ?? limits.sessionMemoryMiBMax,
    ...(headerPairsMax === undefined ? {} : { maxHeaderListPairs: headerPairsMax }),
    ...(guard === undefined
      ? {}
      : { streamResetBurst: guard.controlFramesMax, streamResetRate: (guard.controlFramesMax * 1000) / guard.controlWindowMs }),
    settings: {
      enablePush: false,
      initialWindowSize: http2.streamWindowBytes ?? limits.streamWindowBytes,
      maxConcurrentStreams: concurrentStreamsMax ?? limits.concurrentStreamsMaxDefault,
      maxHeaderListSize: http2.headerListBytesMax ?? headerBytesMax ?? limits.headerBytesMaxDefault,
    },
  };
}
