/** One interface for requests of runtimes over HTTP/2 and HTTP/1.1, so that the code that forwards them is the same for both. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { handleErrors } from "@perdure/base";
import { breakOff, errorBody } from "@perdure/tunnel";

type ProxyHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** One request at the proxy. */
export interface ProxyRequest {
  readonly method: string;
  /** Path and query, unchanged. */
  readonly path: string;
  readonly headers: ProxyHeaders;
  readonly isHttp1: boolean;
  /** The request has no body. */
  readonly isWhole: boolean;
  readonly body: Readable;
  /** The body ended before it was complete: a reset or a broken connection emits `end` too. */
  readonly isCut: boolean;
  readonly answer: Writable;
  readonly isAnswered: boolean;
  readonly isClosed: boolean;
  /** Status of the answer; undefined before it was sent. */
  readonly status: number | undefined;
  /** Does nothing when the request is closed. */
  respond(status: number, headers: Readonly<Record<string, string | string[]>>): void;
  /** Resets the request, so that the client does not take the answer for complete. */
  abort(): void;
  /** Calls the listener once, when nothing more can be read or written. */
  onClose(listener: () => void): void;
}

export class Http2ProxyRequest implements ProxyRequest {
  readonly isHttp1 = false;
  readonly #stream: ServerHttp2Stream;
  readonly headers: ProxyHeaders;

  constructor(stream: ServerHttp2Stream, headers: ProxyHeaders) {
    this.#stream = stream;
    this.headers = headers;
    handleErrors(stream); // `close` follows.
  }

  get method(): string {
    return String(this.headers[":method"] ?? "");
  }
  get path(): string {
    return String(this.headers[":path"] ?? "");
  }
  get isWhole(): boolean {
    return this.#stream.endAfterHeaders;
  }
  get body(): Readable {
    return this.#stream;
  }
  get isCut(): boolean {
    return this.#stream.aborted || this.#stream.destroyed;
  }
  get answer(): Writable {
    return this.#stream;
  }
  get isAnswered(): boolean {
    return this.#stream.headersSent;
  }
  get isClosed(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }
  get status(): number | undefined {
    const status = this.#stream.sentHeaders?.[":status"];
    return status === undefined ? undefined : Number(status);
  }
  respond(status: number, headers: Readonly<Record<string, string | string[]>>): void {
    if (!this.isClosed) this.#stream.respond({ ...headers, ":status": status });
  }
  abort(): void {
    breakOff(this.#stream);
  }
  onClose(listener: () => void): void {
    this.#stream.once("close", listener);
  }
}

export class Http1ProxyRequest implements ProxyRequest {
  readonly isHttp1 = true;
  readonly isWhole: boolean;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
    const { headers } = request;
    this.isWhole = headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
    handleErrors(response); // `close` follows.
    handleErrors(request);
  }

  get method(): string {
    return this.#request.method ?? "";
  }
  get path(): string {
    return this.#request.url ?? "";
  }
  get headers(): ProxyHeaders {
    return this.#request.headers;
  }
  get body(): Readable {
    return this.#request;
  }
  get isCut(): boolean {
    return !this.#request.complete;
  }
  get answer(): Writable {
    return this.#response;
  }
  get isAnswered(): boolean {
    return this.#response.headersSent;
  }
  get isClosed(): boolean {
    return this.#response.destroyed || this.#response.closed;
  }
  get status(): number | undefined {
    return this.#response.headersSent ? this.#response.statusCode : undefined;
  }
  respond(status: number, headers: Readonly<Record<string, string | string[]>>): void {
    this.#response.writeHead(status, { ...headers });
    this.#response.flushHeaders();
  }
  abort(): void {
    this.#response.destroy();
  }
  onClose(listener: () => void): void {
    this.#response.once("close", listener);
  }
}

/** Sends a complete answer with a JSON body. Does nothing when the request is answered or closed. */
export function refuse(
  request: ProxyRequest,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (request.isAnswered || request.isClosed) return;
  const body = errorBody(status, message);
  request.respond(status, { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)), ...headers });
  request.answer.end(body);
  request.body.resume(); // Discards the rest of the body.
}
