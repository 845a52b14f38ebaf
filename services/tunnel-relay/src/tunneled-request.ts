/**
 * One request through a tunnel. Bytes are forwarded in both directions as they arrive, with backpressure. A request that a client declines
 * without executing it is sent to another connection, once (cloud.md §2.5, §2.6).
 */
import { type ClientHttp2Stream, constants } from "node:http2";
import type { Clock, TimerHandle } from "@perdure/base";
import type { BodyReceiver } from "@perdure/http-server";
import { breakOff, closeUnwritten, DRAINING_HEADER, isFinalStatus, passedHeaders } from "@perdure/tunnel";
import { LINGER_MS, REPLAYED_BYTES_MAX, RETRY_AFTER_SECONDS } from "./limits.js";
import type { ProxyRequest, RequestEnding } from "./proxy-request.js";
import { Valve } from "./valve.js";

/** Destination of a request: a connection of a client, or another relay. */
export interface Carrier {
  /** Undefined when the connection has just ended. The stream has a listener for its errors. */
  open(endStream: boolean): ClientHttp2Stream | undefined;
  /** Whether an answer may mean that nothing was executed. */
  readonly mayDecline: boolean;
  /** Called when the carrier declined the request: it takes no more. */
  declined(): void;
}

/** Decides how a request is forwarded, and counts what it transferred. */
export interface ForwardingPolicy {
  /** Another carrier for a request that was declined; undefined when there is none. */
  another(declined: Carrier): Carrier | undefined;
  /** Called when the request is sent to another carrier. */
  retried(): void;
  /** Returns the milliseconds to wait after forwarding this many bytes of a body. */
  pauseMs(bytes: number): number;
  /** Called once, when the request ends, with the body bytes of both directions. */
  ended(bytes: number): void;
}

const NOT_ANSWERED: ReadonlySet<string> = new Set([DRAINING_HEADER]);

/** Starts forwarding the request and returns. */
export function pass(request: ProxyRequest, carrier: Carrier, policy: ForwardingPolicy, clock: Clock): void {
  new TunneledRequest(request, policy, clock).start(carrier);
}

class TunneledRequest implements BodyReceiver {
  readonly #request: ProxyRequest;
  readonly #policy: ForwardingPolicy;
  readonly #clock: Clock;
  /** Pauses the request body. */
  readonly #requestValve: Valve;
  #stream: ClientHttp2Stream | undefined;
  /** Pauses the answer body. */
  #answerValve: Valve | undefined;
  /** Body chunks sent so far, kept until an answer arrives; undefined when they exceed the bound or are not needed any more. */
  #sent: Uint8Array[] | undefined = [];
  #sentBytes = 0;
  #bytes = 0;
  #bodyEnded = false;
  #isRetry = false;
  /** The answer is complete; the rest of the body, and the end of the stream, may take this long. */
  #rest: TimerHandle | undefined;
  #isOver = false;

  constructor(request: ProxyRequest, policy: ForwardingPolicy, clock: Clock) {
    this.#request = request;
    this.#policy = policy;
    this.#clock = clock;
    this.#requestValve = new Valve(request, clock);
    request.onEnd((ending) => this.#requestEnded(ending));
    request.onDrained = () => this.#answerValve?.drained();
    request.startBody(this); // Without a body it ends at once.
  }

  start(carrier: Carrier): void {
    const isWhole = this.#bodyEnded && this.#sentBytes === 0;
    const stream = carrier.open(isWhole);
    if (stream === undefined) return this.#declined(carrier);
    this.#stream = stream;
    const { session } = stream;
    const valve = new Valve(stream, this.#clock);
    this.#answerValve = valve;
    let bytesLeft = Number.NaN;
    stream.on("response", (headers) => {
      if (this.#stream !== stream || this.#request.isOver || this.#request.isAnswered) return;
      const status = Number(headers[":status"]);
      if (status === 503 && carrier.mayDecline && headers[DRAINING_HEADER] === "true") {
        carrier.declined();
        return this.#declined(carrier);
      }
      this.#sent = undefined;
      if (!isFinalStatus(status)) {
        this.#request.refuse(502, "the tunnel's client answered with a status that HTTP/2 does not have");
        return breakOff(stream);
      }
      if (!stream.endAfterHeaders) bytesLeft = Number(headers["content-length"]);
      this.#request.respond(status, passedHeaders(headers, NOT_ANSWERED));
    });
    stream.on("data", (chunk: Uint8Array) => {
      if (this.#stream !== stream) return;
      this.#bytes += chunk.length;
      bytesLeft -= chunk.length;
      valve.passed(this.#request.write(chunk), this.#policy.pauseMs(chunk.length));
    });
    stream.on("end", () => {
      // Node also ends streams that were reset, with or without an error, or whose connection broke.
      const isWhole = !wasReset(stream) && session?.destroyed !== true && !(bytesLeft > 0);
      if (this.#stream === stream && isWhole && this.#request.isAnswered) this.#request.end();
      closeUnwritten(stream);
    });
    stream.on("drain", () => {
      if (this.#stream === stream) this.#requestValve.drained();
    });
    stream.on("close", () => {
      if (this.#stream === stream) this.#streamClosed(stream, carrier);
    });
    if (!isWhole) this.#replay(stream);
  }

  data(chunk: Uint8Array): void {
    if (this.#isOver) return;
    this.#bytes += chunk.length;
    this.#sentBytes += chunk.length;
    if (this.#sentBytes > REPLAYED_BYTES_MAX) this.#sent = undefined;
    this.#sent?.push(chunk);
    // A client that has answered and takes no more of the request (RFC 9113 §8.1) has closed its stream: a write would fail, and no byte of
    // the answer would be read from then on.
    const takesMore = this.#stream === undefined || this.#stream.closed || this.#stream.write(chunk);
    this.#requestValve.passed(takesMore, this.#policy.pauseMs(chunk.length));
  }

  end(): void {
    this.#bodyEnded = true;
    this.#stream?.end();
  }

  #replay(stream: ClientHttp2Stream): void {
    for (const chunk of this.#sent ?? []) stream.write(chunk);
    if (this.#bodyEnded) stream.end();
  }

  /** The request was not executed: sends it to another carrier if all of its body is kept. */
  #declined(carrier: Carrier): void {
    const declined = this.#stream;
    this.#stream = undefined;
    if (declined !== undefined) breakOff(declined);
    const another = this.#isRetry || this.#sent === undefined ? undefined : this.#policy.another(carrier);
    if (another === undefined) return this.#request.refuse(503, "the tunnel's client is draining", RETRY_AFTER);
    this.#isRetry = true;
    this.#policy.retried();
    this.#requestValve.drained();
    this.start(another);
  }

  #streamClosed(stream: ClientHttp2Stream, carrier: Carrier): void {
    // Refused streams were not processed (RFC 9113 §8.7): the client sent GOAWAY before the request arrived.
    if (!this.#request.isAnswered && stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) return this.#declined(carrier);
    if (!this.#request.isAnswered)
      return this.#request.refuse(502, "the tunnel's client closed the connection before it answered");
    if (!this.#request.isOver) return this.#request.abort();
    this.#release(); // The answer is complete before the request body: the rest is discarded.
  }

  /** After its answer a request still sends the rest of its body, and the stream ends by itself. */
  #requestEnded(ending: RequestEnding): void {
    if (ending === "abandoned" || this.#stream === undefined || this.#stream.closed) return this.#release();
    this.#rest = this.#clock.setTimer(LINGER_MS, () => this.#release());
  }

  #release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const stream = this.#stream;
    this.#stream = undefined;
    this.#rest?.cancel();
    this.#policy.ended(this.#bytes);
    this.#answerValve?.close();
    this.#requestValve.close();
    this.#requestValve.drained();
    if (stream !== undefined) breakOff(stream);
  }
}

const RETRY_AFTER = { "retry-after": String(RETRY_AFTER_SECONDS) };

function wasReset(stream: ClientHttp2Stream): boolean {
  return stream.rstCode !== undefined && stream.rstCode !== constants.NGHTTP2_NO_ERROR;
}
