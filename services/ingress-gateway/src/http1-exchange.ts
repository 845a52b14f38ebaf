/** An exchange over `node:http`. Responses leave in one write; an unread body never blocks the connection. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "@perdure/base";
import { lingerBeforeClose } from "@perdure/http-server";
import type { IngressBodyReading } from "./body-reading.js";
import { type ExchangeOwner, IngressExchange } from "./exchange.js";
import { discardBytesMax, inlineResponseBytesMax, lingerMs } from "./limits.js";

export class IngressHttp1Exchange extends IngressExchange {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #clock: Clock;
  #continuePending: boolean;

  constructor(owner: ExchangeOwner, req: IncomingMessage, res: ServerResponse, expectsContinue: boolean, clock: Clock) {
    super(owner, req.method ?? "", req.url ?? "", req.rawHeaders);
    this.#req = req;
    this.#res = res;
    this.#clock = clock;
    this.#continuePending = expectsContinue && this.#hasBody();
    res.on("close", () => this.abandon());
  }

  override startBody(reading: IngressBodyReading): void {
    if (!this.#hasBody()) return reading.end();
    this.reading = reading;
    if (this.#continuePending) {
      this.#continuePending = false;
      this.#res.writeContinue();
    }
    const req = this.#req;
    req.on("data", (chunk: Buffer) => reading.push(chunk));
    req.on("end", () => reading.end());
  }

  protected override write(status: number, headers: string[], body: Uint8Array | string): void {
    const res = this.#res;
    if (this.#bodyIsLeftBehind()) {
      res.shouldKeepAlive = false;
      lingerBeforeClose(this.#req.socket, this.#clock, lingerMs);
    }
    const size = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    if (status !== 204 && status !== 304) headers.push("content-length", String(size));
    res.writeHead(status, headers);
    if (size === 0) res.end();
    else if (typeof body === "string") res.end(body);
    // A string is sent in one write together with the headers; bytes would make a gathered write of two.
    else if (size <= inlineResponseBytesMax) res.end(asBuffer(body).toString("latin1"), "latin1");
    else res.end(body);
  }

  protected override abort(): void {
    this.#req.socket.destroy();
  }

  #hasBody(): boolean {
    return this.chunked || (this.contentLength ?? 0) > 0;
  }

  /** The rest of the body is longer than is worth reading to keep the connection. */
  #bodyIsLeftBehind(): boolean {
    if (this.#req.complete) return false;
    return this.#continuePending || this.chunked || (this.contentLength ?? 0) > discardBytesMax;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
