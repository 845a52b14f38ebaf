/** An exchange over one HTTP/2 stream, on the core API: the compatibility layer would double the cost of a stream. */

import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { present } from "@perdure/base";
import { type BodyReceiver, type ExchangeContext, HttpExchange, hasContent } from "./exchange.js";
import { serverNameOf } from "./http1-exchange.js";
import { boundRestOfStream } from "./linger.js";

/** Node's HTTP/2 refuses to send a higher status; handlers may choose up to 999. */
const STATUS_MAX = 599;

export class Http2Exchange extends HttpExchange {
  readonly #stream: ServerHttp2Stream;
  readonly #context: ExchangeContext;
  readonly #bodyExpected: boolean;
  readonly #expectsContinue: boolean;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: readonly string[],
    context: ExchangeContext,
  ) {
    super(headers[":method"] ?? "", headers[":path"] ?? "", rawHeaders, headers);
    this.#stream = stream;
    this.#context = context;
    this.#bodyExpected = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0;
    this.#expectsContinue = headers.expect === "100-continue";
    stream.on("close", () => this.abandoned());
    stream.on("error", () => this.abandoned()); // "close" always follows; without this listener an error would end the process.
  }

  get isHttp2(): boolean {
    return true;
  }
  get remoteAddress(): string {
    return this.#socket?.remoteAddress ?? "";
  }
  get isSecure(): boolean {
    return this.#context.isSecure;
  }
  get serverName(): string | undefined {
    return serverNameOf(this.#socket ?? {});
  }
  get bodyIsComplete(): boolean {
    return !this.#bodyExpected || this.#stream.readableEnded;
  }

  startBody(receiver: BodyReceiver): void {
    if (!this.#bodyExpected) return receiver.end();
    const stream = this.#stream;
    // An empty body may have ended before: Node emits no `end` to later listeners. A reset also ends the readable side.
    if (stream.readableEnded) {
      if (!stream.aborted && !stream.destroyed) receiver.end();
      return;
    }
    if (this.#expectsContinue && !stream.destroyed && !stream.closed) stream.additionalHeaders({ ":status": 100 });
    stream.on("data", (chunk: Buffer) => receiver.data(chunk));
    stream.on("end", () => {
      if (!stream.aborted && !stream.destroyed) receiver.end();
    });
  }

  pauseBody(): void {
    this.#stream.pause();
  }

  resumeBody(): void {
    this.#stream.resume();
  }

  drop(): void {
    this.over = true;
    const session = this.#stream.session;
    if (session === undefined || session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  }

  protected begin(status: number, headers: string[]): void {
    this.#stream.on("drain", () => this.observer?.drained?.());
    this.#respond(status, headers, this.method === "HEAD");
  }

  protected push(chunk: Uint8Array | string): boolean {
    return !this.#stream.writable || this.#stream.write(chunk);
  }

  protected complete(): void {
    if (this.#stream.writable) this.#stream.end();
    this.#boundRest();
  }

  protected sendWhole(status: number, headers: string[], body: Uint8Array | string): void {
    const size = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    if (hasContent(status)) headers.push("content-length", String(size));
    const isWithoutBody = size === 0 || !hasContent(status) || this.method === "HEAD";
    this.#respond(status, headers, isWithoutBody);
    if (!isWithoutBody && this.#stream.writable) this.#stream.end(body);
    this.#boundRest();
  }

  protected cut(): void {
    this.#stream.destroy(new Error("the answer broke off")); // A normal close would make the answer look complete.
  }

  #respond(status: number, headers: readonly string[], endStream: boolean): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const fields: OutgoingHttpHeaders = { ":status": status > STATUS_MAX ? 500 : status };
    for (let i = 0; i < headers.length; i += 2) add(fields, present(headers[i]), present(headers[i + 1]));
    stream.respond(fields, { endStream });
  }

  #boundRest(): void {
    if (this.#bodyExpected) boundRestOfStream(this.#stream, this.#context.clock, this.#context.lingerMs);
  }

  get #socket(): Partial<TLSSocket> | undefined {
    return this.#stream.session?.socket as Partial<TLSSocket> | undefined;
  }
}

/** Headers that occur more than once (`set-cookie`) become a list. */
function add(fields: OutgoingHttpHeaders, name: string, value: string): void {
  const existing = fields[name];
  if (existing === undefined) fields[name] = value;
  else fields[name] = Array.isArray(existing) ? [...existing, value] : [String(existing), value];
}
