/** An exchange over one HTTP/2 stream, on the core API: the compatibility layer would double the cost of a stream. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Clock } from "@perdure/base";
import { boundRestOfStream } from "@perdure/http-server";
import { type BodyReceiver, Exchange } from "./exchange.js";
import { LINGER_MS } from "./limits.js";

/** Node's HTTP/2 refuses to send a higher status; handlers may choose up to 999. */
const STATUS_MAX = 599;

export interface StreamFacts {
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  readonly serverName: string | undefined;
  readonly isHead: boolean;
  readonly bodyExpected: boolean;
  readonly expectsContinue: boolean;
}

export class Http2Exchange extends Exchange {
  readonly #stream: ServerHttp2Stream;
  readonly #clock: Clock;
  readonly #facts: StreamFacts;

  constructor(stream: ServerHttp2Stream, facts: StreamFacts, clock: Clock) {
    super(facts.remoteAddress, facts.isSecure, facts.serverName);
    this.#stream = stream;
    this.#clock = clock;
    this.#facts = facts;
    stream.on("close", () => this.abandoned());
    stream.on("error", () => this.abandoned()); // "close" always follows; without this listener an error would end the process.
    stream.on("drain", () => this.observer?.drained());
  }

  override startBody(receiver: BodyReceiver): void {
    if (!this.#facts.bodyExpected) return receiver.end();
    const stream = this.#stream;
    if (this.#facts.expectsContinue && !stream.destroyed && !stream.closed) stream.additionalHeaders({ ":status": 100 });
    stream.on("data", (chunk: Buffer) => receiver.data(chunk));
    stream.on("end", () => {
      if (!stream.aborted && !stream.destroyed) receiver.end(); // A reset also ends the readable side.
    });
  }

  override pauseBody(): void {
    this.#stream.pause();
  }

  override resumeBody(): void {
    this.#stream.resume();
  }

  override get bodyIsComplete(): boolean {
    return !this.#facts.bodyExpected || this.#stream.readableEnded;
  }

  protected override begin(status: number, headers: string[], bodyFollows: boolean): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const fields: OutgoingHttpHeaders = { ":status": status > STATUS_MAX ? 500 : status };
    for (let i = 0; i < headers.length; i += 2) add(fields, headers[i] as string, headers[i + 1] as string);
    stream.respond(fields, { endStream: !bodyFollows || this.#facts.isHead });
  }

  protected override push(chunk: Uint8Array | string): boolean {
    return !this.#stream.writable || this.#stream.write(chunk);
  }

  protected override complete(): void {
    const stream = this.#stream;
    if (stream.writable) stream.end();
    if (!this.bodyIsComplete) boundRestOfStream(stream, this.#clock, LINGER_MS);
  }

  protected override cut(): void {
    this.#stream.destroy(new Error("the answer broke off")); // A normal close would make the answer look complete.
  }

  override drop(): void {
    this.over = true;
    const session = this.#stream.session;
    if (session === undefined || session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  }
}

/** Headers that occur more than once (`set-cookie`) become a list. */
function add(fields: OutgoingHttpHeaders, name: string, value: string): void {
  const existing = fields[name];
  if (existing === undefined) fields[name] = value;
  else fields[name] = Array.isArray(existing) ? [...existing, value] : [String(existing), value];
}
