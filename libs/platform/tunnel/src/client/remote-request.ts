/** One request at a remote port, which is forwarded to the environment with a credential. Bytes are forwarded as they arrive. */
import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { causeMessage, handleErrors } from "@perdure/base";
import { type BodyReceiver, type ExchangeObserver, endToEndHeaders, type HttpExchange } from "@perdure/http-server";
import { errorBody, isFinalStatus } from "../http-headers.js";
import type { RemotePortEvent } from "./remote-port.js";

interface RemoteTarget {
  readonly target: URL;
  readonly agent: Agent;
  /** Called for each request; replaces the caller's `Authorization`. */
  readonly credential: () => Promise<string>;
  readonly onEvent: ((event: RemotePortEvent) => void) | undefined;
}

/** Headers that the forwarded request replaces. */
const NOT_PASSED: ReadonlySet<string> = new Set(["host", "authorization", "expect", "proxy-authorization"]);
const NOT_ANSWERED: ReadonlySet<string> = new Set(["proxy-authenticate"]);

export class RemoteRequest implements BodyReceiver, ExchangeObserver {
  readonly #exchange: HttpExchange;
  readonly #to: RemoteTarget;
  #outgoing: ClientRequest | undefined;
  #answer: IncomingMessage | undefined;
  /** HTTP status of the answer; 0 before it has begun. */
  #status = 0;

  constructor(exchange: HttpExchange, to: RemoteTarget) {
    this.#exchange = exchange;
    this.#to = to;
    exchange.observer = this;
  }

  /** Never rejects. */
  async start(): Promise<void> {
    try {
      const authorization = `Bearer ${await this.#to.credential()}`;
      if (this.#exchange.over) return; // The caller disconnected meanwhile.
      this.#send(authorization);
      this.#exchange.startBody(this);
    } catch (cause) {
      this.#refuse(causeMessage(cause));
    }
  }

  #send(authorization: string): void {
    const { target, agent } = this.#to;
    const { method, target: path, rawHeaders } = this.#exchange;
    const headers = endToEndHeaders(rawHeaders, NOT_PASSED);
    headers.push("host", target.host, "authorization", authorization);
    const send = target.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = send(target, { agent, method, path, headers });
    handleErrors(outgoing, (cause) => this.#refuse(`${target.origin} does not answer: ${cause.message}`));
    this.#outgoing = outgoing;
    outgoing.on("drain", () => this.#exchange.resumeBody());
    outgoing.on("response", (answer) => this.#respond(answer));
  }

  #respond(answer: IncomingMessage): void {
    const exchange = this.#exchange;
    handleErrors(answer, () => this.#cut());
    if (exchange.isHttp2 && !isFinalStatus(answer.statusCode)) {
      this.#refuse(`${this.#to.target.origin} answers with a status that HTTP/2 does not have`);
      return void this.#outgoing?.destroy();
    }
    this.#answer = answer;
    this.#status = answer.statusCode ?? 502;
    exchange.start(this.#status, endToEndHeaders(answer.rawHeaders, NOT_ANSWERED));
    answer.on("data", (chunk: Uint8Array) => {
      if (!exchange.write(chunk)) answer.pause();
    });
    answer.on("end", () => exchange.end());
  }

  // ── the caller ─────────────────────────────────────────────────────────────────────────────────

  data(chunk: Uint8Array): void {
    if (this.#outgoing?.write(chunk) === false) this.#exchange.pauseBody();
  }

  end(): void {
    this.#outgoing?.end();
  }

  drained(): void {
    this.#answer?.resume();
  }

  gone(): void {
    this.#outgoing?.destroy();
    this.#report();
  }

  finished(): void {
    this.#report();
  }

  // ── ends ───────────────────────────────────────────────────────────────────────────────────────

  #refuse(message: string): void {
    if (this.#exchange.headersSent) return this.#cut();
    if (this.#exchange.over) return;
    this.#status = 502;
    this.#exchange.send(502, ["content-type", "application/json"], errorBody(502, message));
  }

  #cut(): void {
    if (this.#exchange.over) return;
    this.#exchange.abort();
    this.#outgoing?.destroy();
    this.#report();
  }

  #report(): void {
    const { method, target } = this.#exchange;
    this.#to.onEvent?.({ kind: "request", method, path: target.replace(/\?.*$/s, ""), status: this.#status });
  }
}
