/**
 * One request at the ingress and its response: what the headers say, read once, and what metrics and traces record. An exchange is answered
 * or abandoned exactly once, and reports that to the ingress.
 */
import type { ErrorCode } from "@perdure/base";
import type { Detach } from "@perdure/control";
import type { BodyReading, ExchangeObserver, HttpExchange } from "@perdure/http-server";
import type { EdgeOperation } from "@perdure/telemetry";

/** Subject of an exchange, for metrics. */
export type ExchangeKind = "call" | "send" | "attach" | "output" | "lookup" | "awakeable" | "health" | "other";

/** Observer that counts exchanges. */
export interface ExchangeOwner {
  /** Answered with `status`, or abandoned by the client (undefined). Called exactly once for each exchange. */
  completed(exchange: IngressExchange, status: number | undefined): void;
  /** A response could not be written; the connection is dropped. */
  broke(exchange: IngressExchange, cause: unknown): void;
}

const DEBOUNCE_HEADER = /^x-(?:restate|perdure)-debounce$/i;
const THROTTLE_HEADER = /^x-(?:restate|perdure)-throttle$/i;

export class IngressExchange implements ExchangeObserver {
  readonly method: string;
  /** Target as in the request line or `:path`. */
  readonly requestTarget: string;
  /** Names and values in turn, as sent; HTTP/2 pseudo-headers included. */
  readonly rawHeaders: readonly string[];

  contentType: string | undefined = undefined;
  /** Undefined without the header. */
  contentLength: number | undefined = undefined;
  chunked = false;
  idempotencyKey: string | undefined = undefined;
  limitKey: string | undefined = undefined;
  priority: string | undefined = undefined;
  debounce: string | undefined = undefined;
  throttle: string | undefined = undefined;
  origin: string | undefined = undefined;
  traceparent: string | undefined = undefined;
  tracestate: string | undefined = undefined;
  /** Whether the sender requests sampling of its trace. */
  isTraceRequested = false;
  /** Undefined while tracing is off. */
  span: EdgeOperation | undefined = undefined;

  kind: ExchangeKind = "other";
  /** Monotonic clock; set only when metrics are on. */
  startedAtMs = 0;
  /** Bytes of the response's body, for metrics. */
  bytesOut = 0;
  /** Code of the ingress's refusal, for metrics. */
  refusedWith: ErrorCode | undefined = undefined;
  /** Answered or abandoned: nothing more may be sent. */
  isCompleted = false;
  /** Waits for the outcome; detached when the client disconnects. */
  waiting: Detach | undefined = undefined;
  /** The body while it is being read. */
  reading: BodyReading | undefined = undefined;

  readonly #owner: ExchangeOwner;
  readonly #http: HttpExchange;

  constructor(owner: ExchangeOwner, http: HttpExchange) {
    this.#owner = owner;
    this.#http = http;
    this.method = http.method;
    this.requestTarget = http.target;
    this.rawHeaders = http.rawHeaders;
    http.observer = this;
    this.#readHeaders();
  }

  /** Starts to deliver the body to `reading`; bytes may arrive in the same turn. */
  startBody(reading: BodyReading): void {
    this.reading = reading;
    this.#http.startBody(reading);
  }

  /**
   * The only way to respond; a second response is a bug of the caller and is ignored. `headers` are names and values in turn and complete
   * except for `content-length` and `date`.
   */
  send(status: number, headers: string[], body: Uint8Array | string): void {
    if (this.isCompleted) return;
    this.isCompleted = true;
    this.waiting = undefined;
    this.reading?.cancel();
    this.bytesOut = body.length; // For a text body, its number of characters.
    try {
      this.#http.send(status, headers, body);
    } catch (cause) {
      this.#owner.broke(this, cause);
    }
    this.#owner.completed(this, status);
  }

  /** The client has disconnected. The invocation continues, but its outcome is not sent. */
  gone(): void {
    if (this.isCompleted) return;
    this.isCompleted = true;
    this.reading?.cancel();
    this.waiting?.detach();
    this.waiting = undefined;
    this.#owner.completed(this, undefined);
  }

  /** First value of a header that only rare requests need. `name` in lower case. */
  header(name: string): string | undefined {
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i]!.toLowerCase() === name) return raw[i + 1]!;
    }
    return undefined;
  }

  #readHeaders(): void {
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i]!;
      // Most names are none of these: their length excludes them without comparing characters.
      switch (name.length) {
        case 6:
          if (name.toLowerCase() === "origin") this.origin ??= raw[i + 1]!;
          break;
        case 10:
          if (name.toLowerCase() === "tracestate") this.tracestate ??= raw[i + 1]!;
          break;
        case 11:
          if (name.toLowerCase() === "traceparent") this.traceparent ??= raw[i + 1]!;
          break;
        case 12:
          if (name.toLowerCase() === "content-type") this.contentType ??= raw[i + 1]!;
          break;
        case 14:
          if (name.toLowerCase() === "content-length") this.contentLength ??= Number(raw[i + 1]!);
          break;
        case 15:
          if (name.toLowerCase() === "idempotency-key") this.idempotencyKey ??= raw[i + 1]!;
          else if (name.toLowerCase() === "x-perdure-trace") this.isTraceRequested = raw[i + 1] === "1";
          break;
        case 17:
          if (name.toLowerCase() === "transfer-encoding") this.chunked = true;
          break;
        case 18:
          if (name.toLowerCase() === "x-perdure-priority") this.priority ??= raw[i + 1]!;
          else if (DEBOUNCE_HEADER.test(name)) this.debounce ??= raw[i + 1]!;
          else if (THROTTLE_HEADER.test(name)) this.throttle ??= raw[i + 1]!;
          break;
        case 19:
          if (name.toLowerCase() === "x-restate-limit-key") this.limitKey ??= raw[i + 1]!;
          break;
      }
    }
  }
}
