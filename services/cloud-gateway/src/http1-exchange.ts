/** An exchange over `node:http`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "@perdure/base";
import { boundRestOfBody, lingerBeforeClose } from "@perdure/http-server";
import { type BodyReceiver, Exchange } from "./exchange.js";
import { GATHERED_BODY_BYTES_MAX, LINGER_MS } from "./limits.js";

export class Http1Exchange extends Exchange {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #clock: Clock;
  #continuePending: boolean;

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    facts: { readonly isSecure: boolean; readonly serverName: string | undefined; readonly expectsContinue: boolean },
    clock: Clock,
  ) {
    super(req.socket.remoteAddress ?? "", facts.isSecure, facts.serverName);
    this.#req = req;
    this.#res = res;
    this.#clock = clock;
    this.#continuePending = facts.expectsContinue;
    res.on("close", () => this.abandoned());
    res.on("drain", () => this.observer?.drained());
    res.on("error", () => this.abandoned());
    req.on("error", () => this.abandoned());
  }

  override startBody(receiver: BodyReceiver): void {
    if (this.#continuePending) {
      this.#continuePending = false;
      this.#res.writeContinue();
    }
    const req = this.#req;
    req.on("data", (chunk: Buffer) => receiver.data(chunk));
    req.on("end", () => receiver.end());
  }

  override pauseBody(): void {
    this.#req.pause();
  }

  override resumeBody(): void {
    this.#req.resume();
  }

  /** Node reports a request without a body as complete only after its headers were handled. */
  override get bodyIsComplete(): boolean {
    return this.#req.complete || !this.#hasBody;
  }

  protected override begin(status: number, headers: string[]): void {
    if (!this.#req.complete && ((this.#continuePending && this.#hasBody) || this.#muchIsLeft)) {
      this.#res.shouldKeepAlive = false;
      lingerBeforeClose(this.#req.socket, this.#clock, LINGER_MS);
    }
    this.#res.writeHead(status, headers);
  }

  protected override push(chunk: Uint8Array | string): boolean {
    return this.#res.write(chunk);
  }

  protected override complete(): void {
    const req = this.#req;
    if (!req.complete) this.#res.once("finish", () => boundRestOfBody(req, this.#clock, LINGER_MS));
    this.#res.end();
    if (!req.complete) req.resume(); // The rest of the body is read and dropped, so that the connection can be used again.
  }

  protected override cut(): void {
    this.#req.socket.destroy();
  }

  /** The parser failed within the body. */
  bodyBroke(): void {
    if (this.over || this.headersSent || this.observer === undefined) return void this.#req.socket.destroy();
    this.observer.unreadable();
  }

  override drop(): void {
    this.over = true;
    this.#req.socket.destroy();
  }

  get #hasBody(): boolean {
    const { headers } = this.#req;
    return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  }

  /** Reading the rest just to keep the connection is not worth it. */
  get #muchIsLeft(): boolean {
    const declared = this.#req.headers["content-length"];
    return this.#hasBody && (declared === undefined || Number(declared) > GATHERED_BODY_BYTES_MAX);
  }
}
