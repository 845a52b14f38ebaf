/**
 * One exchange over HTTP/1.1: a chunked request that stays open while the response already streams. Node's agent keeps sockets open and
 * reuses them.
 */
import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { type Clock, handleErrors, type TimerHandle } from "@perdure/base";
import { EGRESS_DENIED_CODE } from "@perdure/egress";
import type { EndpointStream, StreamListener, StreamRequest, TransportFailure } from "@perdure/endpoint-transport";
import { type EndpointBase, requestTarget } from "./endpoint-base.js";
import { clientFailure, connectFailure, errorCodeOf, errorText, lostFailure } from "./failures.js";
import { CONNECT_TIMEOUT_MS } from "./limits.js";

/** Errors that happen before there is a connection. */
const CONNECT_ERRORS: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  EGRESS_DENIED_CODE,
]);

export class Http1EndpointStream implements EndpointStream {
  readonly #base: EndpointBase;
  readonly #clock: Clock;
  readonly #listener: StreamListener;
  readonly #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #connectTimer: TimerHandle | undefined;
  #connected = false;
  #readingPaused = false;
  #over = false;

  constructor(base: EndpointBase, request: StreamRequest, listener: StreamListener, agent: Agent, clock: Clock) {
    this.#base = base;
    this.#listener = listener;
    this.#clock = clock;
    try {
      this.#request = this.#send(request, agent);
    } catch (cause) {
      queueMicrotask(() => this.#fail(clientFailure(cause))); // A header or path HTTP/1.1 forbids.
    }
  }

  write(bytes: Uint8Array): boolean {
    if (this.#over || this.#request === undefined || this.#request.writableEnded) return true;
    return this.#request.write(bytes);
  }

  end(): void {
    if (this.#request !== undefined && !this.#request.writableEnded) this.#request.end();
  }

  abort(): void {
    this.#finish();
    this.#request?.destroy();
  }

  pauseReading(): void {
    this.#readingPaused = true;
    this.#response?.pause();
  }

  resumeReading(): void {
    this.#readingPaused = false;
    this.#response?.resume();
  }

  #send(request: StreamRequest, agent: Agent): ClientRequest {
    const base = this.#base;
    const send = base.secure ? httpsRequest : httpRequest;
    const outgoing = send({
      agent,
      hostname: base.hostname,
      port: base.port,
      method: request.method,
      path: requestTarget(base, request.path),
      headers: { host: base.authority, ...request.headers },
    });
    handleErrors(outgoing, this.#onError);
    outgoing.on("socket", this.#onSocket);
    outgoing.on("response", this.#onResponse);
    outgoing.on("drain", this.#onDrain);
    outgoing.on("close", this.#onClose);
    return outgoing;
  }

  readonly #onSocket = (socket: Socket): void => {
    if (!socket.connecting) {
      this.#connected = true;
      return;
    }
    const timeout = connectFailure(this.#base.authority, `no connection within ${CONNECT_TIMEOUT_MS / 1000} s`);
    this.#connectTimer = this.#clock.setTimer(CONNECT_TIMEOUT_MS, () => {
      this.#fail(timeout);
      this.#request?.destroy();
    });
    socket.once(this.#base.secure ? "secureConnect" : "connect", () => {
      this.#connected = true;
      this.#connectTimer?.cancel();
    });
  };

  readonly #onResponse = (response: IncomingMessage): void => {
    handleErrors(response, this.#onError);
    if (this.#over) {
      response.resume();
      return;
    }
    this.#response = response;
    response.on("data", this.#onData);
    response.on("end", this.#onEnd);
    this.#listener.response(response.statusCode ?? 0, response.headers as Record<string, string | undefined>);
    if (this.#readingPaused) response.pause();
  };

  readonly #onData = (chunk: Uint8Array): void => {
    if (!this.#over) this.#listener.data(chunk);
  };

  readonly #onDrain = (): void => {
    if (!this.#over) this.#listener.drain();
  };

  readonly #onEnd = (): void => {
    if (this.#over) return;
    this.#finish();
    this.#listener.end();
  };

  /** Fails the exchange. An error after its end is ignored, e.g. of a write that the peer no longer reads. */
  readonly #onError = (cause: unknown): void => {
    if (this.#over) return;
    const code = errorCodeOf(cause);
    if (code?.startsWith("HPE_"))
      return this.#fail({ kind: "protocol", message: `not an HTTP/1.1 response: ${errorText(cause)}` });
    const neverConnected = !this.#connected || (code !== undefined && CONNECT_ERRORS.has(code));
    this.#fail(neverConnected ? connectFailure(this.#base.authority, cause) : lostFailure(cause));
  };

  readonly #onClose = (): void => {
    this.#fail(lostFailure("closed before the end of the response"));
  };

  #fail(failure: TransportFailure): void {
    if (this.#over) return;
    this.#finish();
    this.#listener.failed(failure);
  }

  #finish(): void {
    this.#over = true;
    this.#connectTimer?.cancel();
  }
}
