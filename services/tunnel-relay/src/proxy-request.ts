/** One request of a runtime, whatever its HTTP version, on its way to a tunnel. */
import type { IncomingHttpHeaders } from "node:http";
import type { BodyReceiver, ExchangeObserver, HttpExchange } from "@perdure/http-server";
import { errorBody } from "@perdure/tunnel";

/** `answered`: the whole answer was passed to the connection, while the body may still arrive. */
export type RequestEnding = "answered" | "abandoned";

export class ProxyRequest implements ExchangeObserver {
  /** Called when more of the answer can be written. */
  onDrained: (() => void) | undefined = undefined;
  /** Status of the answer; undefined before it has begun. */
  status: number | undefined = undefined;
  readonly #exchange: HttpExchange;
  readonly #endListeners: ((ending: RequestEnding) => void)[] = [];

  constructor(exchange: HttpExchange) {
    this.#exchange = exchange;
    exchange.observer = this;
  }

  get method(): string {
    return this.#exchange.method;
  }
  /** Path and query, unchanged. */
  get path(): string {
    return this.#exchange.target;
  }
  get headers(): IncomingHttpHeaders {
    return this.#exchange.headers;
  }
  get isHttp1(): boolean {
    return !this.#exchange.isHttp2;
  }
  /** The answer has begun. */
  get isAnswered(): boolean {
    return this.#exchange.headersSent;
  }
  /** Answered in full, or abandoned. */
  get isOver(): boolean {
    return this.#exchange.over;
  }

  /** Calls the listener once. */
  onEnd(listener: (ending: RequestEnding) => void): void {
    this.#endListeners.push(listener);
  }

  // ── the body ───────────────────────────────────────────────────────────────────────────────────

  startBody(receiver: BodyReceiver): void {
    this.#exchange.startBody(receiver);
  }
  pause(): void {
    this.#exchange.pauseBody();
  }
  resume(): void {
    this.#exchange.resumeBody();
  }

  // ── the answer ─────────────────────────────────────────────────────────────────────────────────

  /** Begins the answer, at once: its body may come much later. Does nothing when the request is over. */
  respond(status: number, headers: Readonly<Record<string, string | string[]>>): void {
    if (this.isOver) return;
    this.status = status;
    this.#exchange.start(status, listOf(headers));
    this.#exchange.flush();
  }

  /** False: wait for `onDrained`. */
  write(chunk: Uint8Array): boolean {
    return this.#exchange.write(chunk);
  }

  end(): void {
    this.#exchange.end();
  }

  /** Resets the request, so that the client does not take the answer for complete. */
  abort(): void {
    if (this.isOver) return;
    this.#exchange.abort();
    this.#ended("abandoned");
  }

  /** Sends a complete answer. Does nothing when the request is answered or over. */
  send(status: number, headers: Readonly<Record<string, string>> = {}, body = ""): void {
    if (this.isAnswered || this.isOver) return;
    this.status = status;
    this.#exchange.send(status, listOf(headers), body);
  }

  /** Sends a complete answer with a JSON body. Does nothing when the request is answered or over. */
  refuse(status: number, message: string, headers: Readonly<Record<string, string>> = {}): void {
    this.send(status, { "content-type": "application/json", ...headers }, errorBody(status, message));
  }

  // ── events of the exchange ─────────────────────────────────────────────────────────────────────

  drained(): void {
    this.onDrained?.();
  }
  gone(): void {
    this.#ended("abandoned");
  }
  finished(): void {
    this.#ended("answered");
  }

  #ended(ending: RequestEnding): void {
    for (const listener of this.#endListeners.splice(0)) listener(ending);
  }
}

/** Names and values in turn. */
function listOf(headers: Readonly<Record<string, string | string[]>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" ? [name, value] : value.flatMap((one) => [name, one]),
  );
}
