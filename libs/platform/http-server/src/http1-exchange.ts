/** An exchange over `node:http`. Whole answers leave in one write; an unread body never blocks the connection. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { type BodyReceiver, type ExchangeContext, HttpExchange, hasContent } from "./exchange.js";
import { inlineAnswerBytesMax } from "./limits.js";
import { lingerBeforeClose } from "./linger.js";

export class Http1Exchange extends HttpExchange {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #context: ExchangeContext;
  readonly #hasBody: boolean;
  #continuePending: boolean;

  constructor(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean, context: ExchangeContext) {
    super(req.method ?? "", req.url ?? "", req.rawHeaders, req.headers);
    this.#req = req;
    this.#res = res;
    this.#context = context;
    const { headers } = req;
    this.#hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
    this.#continuePending = expectsContinue && this.#hasBody;
    res.on("close", () => this.abandoned());
  }

  get isHttp2(): boolean {
    return false;
  }
  get remoteAddress(): string {
    return this.#req.socket.remoteAddress ?? "";
  }
  get isSecure(): boolean {
    return this.#context.isSecure;
  }
  get serverName(): string | undefined {
    return serverNameOf(this.#req.socket as Partial<TLSSocket>);
  }
  /** Node reports a request without a body as complete only after its headers were handled. */
  get bodyIsComplete(): boolean {
    return this.#req.complete || !this.#hasBody;
  }

  startBody(receiver: BodyReceiver): void {
    if (!this.#hasBody) return receiver.end();
    if (this.#continuePending) {
      this.#continuePending = false;
      this.#res.writeContinue();
    }
    const req = this.#req;
    req.on("data", (chunk: Buffer) => receiver.data(chunk));
    req.on("end", () => receiver.end());
  }

  pauseBody(): void {
    this.#req.pause();
  }

  resumeBody(): void {
    this.#req.resume();
  }

  drop(): void {
    this.over = true;
    this.cut();
  }

  /** The parser failed within the body. Returns whether the observer answers. */
  bodyBroke(): boolean {
    if (this.over || this.headersSent || this.observer?.unreadable === undefined) return false;
    this.observer.unreadable();
    return true;
  }

  protected begin(status: number, headers: string[]): void {
    const res = this.#res;
    res.on("drain", () => this.observer?.drained?.());
    res.on("error", () => this.abandoned());
    this.#closeUnlessRestIsShort();
    res.writeHead(status, headers);
  }

  protected override sendHeaders(): void {
    this.#res.flushHeaders();
  }

  protected push(chunk: Uint8Array | string): boolean {
    return this.#res.write(chunk);
  }

  protected complete(): void {
    this.#res.end();
    this.#dropRest();
  }

  protected sendWhole(status: number, headers: string[], body: Uint8Array | string): void {
    const res = this.#res;
    const { complete } = this.#req;
    if (!complete) this.#closeUnlessRestIsShort();
    const size = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    if (hasContent(status)) headers.push("content-length", String(size));
    res.writeHead(status, headers);
    if (size === 0) res.end();
    else if (typeof body === "string") res.end(body);
    // A string is sent in one write together with the headers; bytes would make a gathered write of two.
    else if (size <= inlineAnswerBytesMax) res.end(asBuffer(body).toString("latin1"), "latin1");
    else res.end(body);
    if (!complete) this.#dropRest();
  }

  protected cut(): void {
    this.#req.socket.destroy();
  }

  /** A rest of the body that is long, or that waits for `100 Continue`, is not worth reading just to keep the connection. */
  #closeUnlessRestIsShort(): void {
    if (this.#req.complete || !this.#hasBody) return;
    const declared = this.#req.headers["content-length"];
    const isShort = declared !== undefined && Number(declared) <= this.#context.discardedBytesMax;
    if (isShort && !this.#continuePending) return;
    this.#res.shouldKeepAlive = false;
    lingerBeforeClose(this.#req.socket, this.#context.clock, this.#context.lingerMs);
  }

  /** Reads and drops the rest of the body, so that the connection can be used again; the port bounds the time. */
  #dropRest(): void {
    if (!this.#req.complete) this.#req.resume();
  }
}

export function serverNameOf({ servername }: Partial<TLSSocket>): string | undefined {
  return typeof servername === "string" && servername !== "" ? servername.toLowerCase() : undefined;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
