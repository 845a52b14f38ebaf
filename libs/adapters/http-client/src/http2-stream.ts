/**
 * One exchange over HTTP/2. It may be written to before its connection exists: the bytes are queued here and leave with the headers in one
 * write.
 */
import type { EndpointStream, StreamListener, StreamRequest, TransportFailure } from "@perdure/endpoint-transport";
import { type EndpointBase, requestTarget } from "./endpoint-base.js";
import { clientFailure, lostFailure, resetFailure, unprocessedFailure } from "./failures.js";
import type { Http2Connection } from "./http2/connection.js";
import { fieldProblem } from "./http2/field-rules.js";
import { ErrorCode } from "./http2/protocol.js";
import type { Http2Stream, StreamReceiver } from "./http2/stream.js";
import { PENDING_WRITE_BYTES } from "./limits.js";

/** Events of streams that their connection receives. */
export interface StreamHost {
  /**
   * The peer opens no more streams on this connection now; this stream was not processed. Called before the listener, which may retry at
   * once.
   */
  streamRefused(): void;
  /** A large message is on its way on this stream, or no longer. */
  largeMessage(isComing: boolean): void;
  /** Once for each stream that started, when it is closed on both sides. */
  streamClosed(): void;
}

export class Http2EndpointStream implements EndpointStream, StreamReceiver {
  readonly base: EndpointBase;
  /** Whether the attempt sends a large message. */
  readonly isLarge: boolean;
  readonly #request: StreamRequest;
  readonly #listener: StreamListener;
  #stream: Http2Stream | undefined;
  /** Written before the connection was there. */
  #pending: Uint8Array[] | undefined;
  #pendingBytes = 0;
  #requestEnded = false;
  #readingPaused = false;
  /** The listener got its last event, or has cancelled. */
  #over = false;
  #answered = false;
  /** The rest of the length that the response announced; NaN when it announced none. */
  #bytesLeft = Number.NaN;
  #isWaiting = false;
  #carriesLargeMessage = false;
  /** Undefined before it starts, and once the stream no longer counts against its session. */
  #host: StreamHost | undefined;

  constructor(base: EndpointBase, request: StreamRequest, listener: StreamListener) {
    this.base = base;
    this.isLarge = request.isLarge === true;
    this.#request = request;
    this.#listener = listener;
  }

  /** The exchange is over or cancelled: a pool should not start it. */
  get over(): boolean {
    return this.#over;
  }

  /** The endpoint takes no more streams now; `start` or `fail` follows unless the attempt has ended. Idempotent. */
  wait(): void {
    if (this.#isWaiting || this.#over) return;
    this.#isWaiting = true;
    this.#listener.waiting?.(true);
  }

  /**
   * Starts on a connection that has a free stream. Returns the failure when the request cannot be made: it has not started, and `fail`
   * should follow.
   */
  start(connection: Http2Connection, host: StreamHost): TransportFailure | undefined {
    if (this.#isWaiting) this.#listener.waiting?.(false);
    this.#isWaiting = false;
    const fields = this.#fields();
    if (typeof fields === "string") return clientFailure(fields);
    this.#host = host;
    this.carriesLargeMessage(this.isLarge);
    const stream = connection.open(fields, this);
    this.#stream = stream;
    if (this.#readingPaused) stream.pause();
    this.#flushPending(stream);
    return undefined;
  }

  /** The pool could not start it, or the exchange has failed. */
  fail(failure: TransportFailure): void {
    if (this.#over) return;
    this.#over = true;
    this.#pending = undefined;
    this.#listener.failed(failure);
  }

  write(bytes: Uint8Array): boolean {
    if (this.#over || this.#requestEnded) return true;
    if (this.#stream !== undefined) return this.#stream.write(bytes);
    this.#pending ??= [];
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    return this.#pendingBytes < PENDING_WRITE_BYTES;
  }

  end(): void {
    if (this.#requestEnded) return;
    this.#requestEnded = true;
    this.#stream?.end();
  }

  abort(): void {
    this.#over = true;
    this.#pending = undefined;
    this.#stream?.abort();
  }

  pauseReading(): void {
    this.#readingPaused = true;
    this.#stream?.pause();
  }

  resumeReading(): void {
    this.#readingPaused = false;
    this.#stream?.resume();
  }

  carriesLargeMessage(isLarge: boolean): void {
    const isBusy = isLarge || (this.isLarge && this.#host !== undefined);
    if (this.#carriesLargeMessage === isBusy) return;
    this.#carriesLargeMessage = isBusy;
    this.#host?.largeMessage(isBusy);
  }

  // ── events of the stream ───────────────────────────────────────────────────────────────────────

  answered(status: number, headers: Readonly<Record<string, string>>, isEnd: boolean): void {
    this.#answered = true;
    if (!isEnd && headers["content-length"] !== undefined) this.#bytesLeft = Number(headers["content-length"]);
    if (!this.#over) this.#listener.response(status, headers);
  }

  received(piece: Uint8Array): void {
    this.#bytesLeft -= piece.length;
    if (!this.#over) this.#listener.data(piece);
  }

  drained(): void {
    if (!this.#over) this.#listener.drain();
  }

  ended(): void {
    if (this.#over) return;
    if (this.#bytesLeft > 0) return this.fail(resetFailure(ErrorCode.protocolError));
    this.#over = true;
    this.#listener.end();
  }

  reset(errorCode: number): void {
    const isRefused = errorCode === ErrorCode.refusedStream || errorCode === ErrorCode.enhanceYourCalm;
    if (this.#answered || !isRefused) return this.fail(resetFailure(errorCode));
    this.#host?.streamRefused();
    this.fail(unprocessedFailure(errorCode));
  }

  lost(cause: unknown): void {
    this.fail(lostFailure(cause));
  }

  closed(): void {
    const host = this.#host;
    if (this.#carriesLargeMessage) host?.largeMessage(false);
    this.#carriesLargeMessage = false;
    this.#host = undefined;
    host?.streamClosed();
  }

  // ── how it begins ──────────────────────────────────────────────────────────────────────────────

  /** The header fields of the request, names and values in turn; a text that says why it cannot be made. */
  #fields(): string[] | string {
    const { base } = this;
    const { method, path, headers } = this.#request;
    const fields = [
      ":method",
      method,
      ":scheme",
      base.secure ? "https" : "http",
      ":authority",
      base.authority,
      ":path",
      requestTarget(base, path),
    ];
    for (const name in headers) {
      const value = headers[name]!;
      const problem = fieldProblem(name, value);
      if (problem !== undefined) return problem;
      fields.push(name, value);
    }
    return fields;
  }

  #flushPending(stream: Http2Stream): void {
    const pending = this.#pending;
    this.#pending = undefined;
    let free = true;
    for (const bytes of pending ?? []) free = stream.write(bytes);
    if (this.#requestEnded) stream.end();
    if (free && this.#pendingBytes >= PENDING_WRITE_BYTES) this.#listener.drain();
  }
}
