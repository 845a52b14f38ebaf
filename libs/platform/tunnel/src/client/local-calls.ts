/**
 * Forwards requests from the tunnel to local services over HTTP/2 or HTTP/1.1, streaming in both directions with backpressure. Redirects
 * are returned unchanged: following them would reach destinations that the owner did not allow.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type ServerHttp2Stream } from "node:http2";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { type Clock, handleErrors, type TimerHandle } from "@perdure/base";
import { breakOff, closeUnwritten } from "../break-off.js";
import { HTTP_VERSION_HEADER } from "../handshake.js";
import { errorBody, isFinalStatus, passedHeaders } from "../http-headers.js";
import {
  CONNECTION_WINDOW_BYTES,
  FLUSH_MS,
  LOCAL_CONNECT_MS,
  LOCAL_IDLE_MS,
  LOCAL_SOCKETS_MAX,
  SESSION_MEMORY_MEGABYTES,
  STREAM_WINDOW_BYTES,
} from "../limits.js";
import type { LocalService } from "./locals.js";

/** Facts about a request that is forwarded. */
interface LocalRequest {
  readonly stream: ServerHttp2Stream;
  /** Unchanged. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
}

const NOT_PASSED: ReadonlySet<string> = new Set(["host", HTTP_VERSION_HEADER]);
const NOT_ANSWERED: ReadonlySet<string> = new Set();

export class LocalCalls implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #sessions = new Map<string, ClientHttp2Session>();
  /** Every session that is not closed, including those that take no new requests. */
  readonly #open = new Set<ClientHttp2Session>();
  readonly #running = new Set<ClientHttp2Stream>();
  /** HTTP versions that https services negotiated, by authority. */
  readonly #versions = new Map<string, "HTTP/1.1" | "HTTP/2.0">();
  readonly #httpAgent = new HttpAgent({
    keepAlive: true,
    maxFreeSockets: LOCAL_SOCKETS_MAX,
    timeout: LOCAL_IDLE_MS,
  });
  readonly #httpsAgent = new HttpsAgent({
    keepAlive: true,
    maxFreeSockets: LOCAL_SOCKETS_MAX,
    timeout: LOCAL_IDLE_MS,
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Answers the stream, with 502 when the service is unavailable. `version` undefined: HTTP/2 for cleartext, the result of ALPN for https.
   */
  call(request: LocalRequest, service: LocalService, version: "HTTP/1.1" | "HTTP/2.0" | undefined): void {
    const agreedVersion = version ?? (service.scheme === "http" ? "HTTP/2.0" : this.#versions.get(service.authority));
    if (agreedVersion === undefined) void this.#agree(request, service);
    else if (agreedVersion === "HTTP/2.0") this.#callHttp2(request, service);
    else this.#callHttp1(request, service);
  }

  /** Resets requests in flight: a service would take a request for complete if its connection ended normally. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#sessions.clear();
    for (const local of this.#running) breakOff(local);
    await Promise.all([...this.#open].map((session) => this.#closeGently(session)));
    this.#httpAgent.destroy();
    this.#httpsAgent.destroy();
  }

  /** Flushes written bytes before the connection is closed. */
  async #closeGently(session: ClientHttp2Session): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    session.once("close", () => resolve());
    session.close();
    const timeout = this.#clock.setTimer(FLUSH_MS, () => session.destroy());
    await promise;
    timeout.cancel();
  }

  // ── HTTP/2 ─────────────────────────────────────────────────────────────────────────────────────

  #callHttp2({ stream, headers, method, target }: LocalRequest, service: LocalService): void {
    const outgoing: Record<string, string | string[]> = passedHeaders(headers, NOT_PASSED);
    outgoing[":method"] = method;
    outgoing[":scheme"] = service.scheme;
    outgoing[":authority"] = service.authority;
    outgoing[":path"] = target;
    const session = this.#session(service);
    const local = session.request(outgoing, { endStream: stream.endAfterHeaders });
    handleErrors(local, (cause) => unreachable(stream, service, cause));
    this.#running.add(local);
    local.on("response", (answer) => {
      if (stream.destroyed || stream.closed || stream.headersSent) return;
      if (!isFinalStatus(answer[":status"])) return wrongStatus(stream, local, service);
      const passed = passedHeaders(answer, NOT_ANSWERED);
      stream.respond({ ...passed, ":status": answer[":status"] ?? 502 });
      local.pipe(stream, { end: false });
    });
    local.on("end", () => {
      // Node also ends streams that were reset or whose connection broke; `close` follows.
      if (!wasReset(local) && !session.destroyed && stream.headersSent && !stream.destroyed) stream.end();
      closeUnwritten(local);
    });
    local.on("close", () => {
      this.#running.delete(local);
      if (stream.destroyed) return;
      // Answered before the request has ended: the rest of it is discarded.
      if (stream.writableEnded) stream.unpipe(local).resume();
      else unreachable(stream, service, undefined);
    });
    // A broken connection to the relay emits `aborted` and then ends the readable side: half a request must not be forwarded as a complete
    // one.
    for (const over of ["aborted", "close"]) stream.on(over, () => breakOff(local));
    if (!stream.endAfterHeaders) stream.pipe(local);
  }

  #session(service: LocalService): ClientHttp2Session {
    const origin = `${service.scheme}://${service.authority}`;
    const open = this.#sessions.get(origin);
    if (open !== undefined) return open;
    const session = connect(origin, {
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MEGABYTES,
    });
    handleErrors(session, () => remove()); // Its streams receive the error too and answer with it.
    const remove = (): void => {
      if (this.#sessions.get(origin) === session) this.#sessions.delete(origin);
    };
    this.#sessions.set(origin, session);
    this.#open.add(session);
    const slow = this.#clock.setTimer(LOCAL_CONNECT_MS, () =>
      session.destroy(new Error(`no connection within ${LOCAL_CONNECT_MS / 1000} s`)),
    );
    session.once("connect", () => {
      slow.cancel();
      if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    });
    session.on("goaway", remove);
    session.on("close", () => {
      slow.cancel();
      this.#open.delete(session);
      remove();
    });
    this.#watchIdle(session, remove);
    return session;
  }

  /** Node's `session.setTimeout` would keep a destroyed session in memory until the timer fires. */
  #watchIdle(session: ClientHttp2Session, remove: () => void): void {
    let bytes = 0;
    let timer: TimerHandle;
    const check = (): void => {
      const { bytesRead = 0, bytesWritten = 0 } = (session.socket as Socket | undefined) ?? {};
      const isIdle = bytesRead + bytesWritten === bytes;
      bytes = bytesRead + bytesWritten;
      if (!isIdle) {
        timer = this.#clock.setTimer(LOCAL_IDLE_MS, check);
        return;
      }
      remove(); // Its requests in flight finish.
      session.close();
    };
    timer = this.#clock.setTimer(LOCAL_IDLE_MS, check);
    session.once("close", () => timer.cancel());
  }

  // ── HTTP/1.1 ───────────────────────────────────────────────────────────────────────────────────

  #callHttp1({ stream, headers, method, target }: LocalRequest, service: LocalService): void {
    const isSecure = service.scheme === "https";
    const send = isSecure ? httpsRequest : httpRequest;
    const outgoing = send({
      agent: isSecure ? this.#httpsAgent : this.#httpAgent,
      host: service.host,
      port: service.port,
      method,
      path: target,
      headers: { ...passedHeaders(headers, NOT_PASSED), host: service.authority },
    });
    handleErrors(outgoing, (cause) => unreachable(stream, service, cause));
    outgoing.on("response", (answer: IncomingMessage) => {
      handleErrors(answer, (cause) => unreachable(stream, service, cause));
      if (stream.destroyed || stream.closed || stream.headersSent) {
        answer.destroy();
        return;
      }
      if (!isFinalStatus(answer.statusCode)) return wrongStatus(stream, outgoing, service);
      stream.respond({ ...passedHeaders(answer.headers, NOT_ANSWERED), ":status": answer.statusCode ?? 502 });
      answer.on("aborted", () => unreachable(stream, service, undefined));
      answer.pipe(stream);
    });
    for (const over of ["aborted", "close"]) stream.on(over, () => outgoing.destroy());
    if (stream.endAfterHeaders) outgoing.end();
    else stream.pipe(outgoing);
  }

  /** One TLS handshake that offers both versions; the result is valid until the process ends. */
  async #agree(request: LocalRequest, service: LocalService): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<"HTTP/1.1" | "HTTP/2.0">();
    const socket = tlsConnect({
      host: service.host,
      port: service.port,
      servername: service.host,
      ALPNProtocols: ["h2", "http/1.1"],
    });
    handleErrors(socket, reject);
    const slow = this.#clock.setTimer(LOCAL_CONNECT_MS, () =>
      reject(new Error(`no TLS connection within ${LOCAL_CONNECT_MS / 1000} s`)),
    );
    socket.once("secureConnect", () => resolve(socket.alpnProtocol === "h2" ? "HTTP/2.0" : "HTTP/1.1"));
    try {
      const version = await promise;
      this.#versions.set(service.authority, version);
      if (!request.stream.destroyed) this.call(request, service, version);
    } catch (cause) {
      unreachable(request.stream, service, cause);
    } finally {
      slow.cancel();
      socket.destroy();
    }
  }
}

function wasReset({ rstCode }: ClientHttp2Stream): boolean {
  return rstCode !== undefined && rstCode !== constants.NGHTTP2_NO_ERROR;
}

/** Answers with 502 if nothing was answered yet, else resets the stream. */
function unreachable(stream: ServerHttp2Stream, { authority }: LocalService, cause: unknown): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.headersSent) return breakOff(stream);
  const why = cause instanceof Error ? cause.message : "it gave the request up";
  answerError(stream, 502, `${authority} does not answer: ${why}`);
}

/** HTTP/1.1 services may answer with a status up to 999; Node throws when such a status is sent over HTTP/2. */
function wrongStatus(stream: ServerHttp2Stream, local: { destroy(): unknown }, { authority }: LocalService): void {
  answerError(stream, 502, `${authority} answers with a status that HTTP/2 does not have`);
  local.destroy();
}

/** Sends a complete answer. Does nothing when the stream is answered or closed. */
export function answerError(
  stream: ServerHttp2Stream,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  stream.respond({ ":status": status, "content-type": "application/json", ...headers });
  stream.end(errorBody(status, message));
  stream.resume();
}
