/** An exchange over one HTTP/2 stream, on the core API: the compatibility layer costs as much again as the stream. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Clock } from "@perdure/base";
import { boundRestOfStream } from "@perdure/http-server";
import type { IngressBodyReading } from "./body-reading.js";
import { type ExchangeOwner, IngressExchange } from "./exchange.js";
import { lingerMs } from "./limits.js";

const endStreamFlag = 1;
/** Node's HTTP/2 refuses to send a higher status; handlers may choose up to 999. The body has the code in any case. */
const statusMax = 599;

export class IngressHttp2Exchange extends IngressExchange {
  readonly #stream: ServerHttp2Stream;
  readonly #clock: Clock;
  readonly #bodyExpected: boolean;
  readonly #expectsContinue: boolean;

  constructor(
    owner: ExchangeOwner,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    flags: number,
    rawHeaders: readonly string[],
    clock: Clock,
  ) {
    super(owner, headers[":method"] ?? "", headers[":path"] ?? "", rawHeaders);
    this.#stream = stream;
    this.#clock = clock;
    this.#bodyExpected = (flags & endStreamFlag) === 0;
    this.#expectsContinue = headers.expect === "100-continue";
    stream.on("close", () => this.abandon());
    stream.on("error", () => this.abandon()); // The stream always closes as well; without a listener the error would end the process.
  }

  override startBody(reading: IngressBodyReading): void {
    if (!this.#bodyExpected) return reading.end();
    this.reading = reading;
    const stream = this.#stream;
    if (this.#expectsContinue && !stream.destroyed && !stream.closed) stream.additionalHeaders({ ":status": 100 });
    stream.on("data", (chunk: Buffer) => reading.push(chunk));
    stream.on("end", () => {
      if (!stream.aborted) reading.end(); // A reset ends the readable side like the last byte does.
    });
  }

  protected override write(status: number, headers: string[], body: Uint8Array | string): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const size = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const fields: OutgoingHttpHeaders = { ":status": status > statusMax ? 500 : status };
    for (let i = 0; i < headers.length; i += 2) fields[headers[i]!] = headers[i + 1]!;
    if (status !== 204 && status !== 304) fields["content-length"] = size;
    if (size === 0 || this.method === "HEAD") stream.respond(fields, { endStream: true });
    else {
      stream.respond(fields);
      stream.end(body);
    }
    if (this.#bodyExpected) boundRestOfStream(stream, this.#clock, lingerMs);
  }

  protected override abort(): void {
    this.#stream.destroy(new Error("the answer could not be written")); // A normal close would make the response look complete.
  }
}
