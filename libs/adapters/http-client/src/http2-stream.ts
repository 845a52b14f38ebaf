/**
 * One exchange over HTTP/2. It may be written to before its connection exists: the bytes are queued here and leave with the headers in one
 * write. Node's core stream API is used as it is; its compat layer and promises would double the price of a call.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { addAbortSignal } from "node:stream";
import type { EndpointStream, StreamListener, StreamRequest, TransportFailure } from "@perdure/endpoint-transport";
import { type EndpointBase, requestTarget } from "./endpoint-base.js";
import { clientFailure, errorCodeOf, lostFailure, resetFailure, unprocessedFailure } from "./failures.js";
import { PENDING_WRITE_BYTES } from "./limits.js";

const NO_OPTIONS = { endStream: false };
const ABORTED = AbortSignal.abort();

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

const owner = Symbol("owner");
/** Undefined once it is closed. */
type OwnedStream = ClientHttp2Stream & { [owner]: Http2EndpointStream | undefined };

export class Http2EndpointStream implements EndpointStream {
  readonly base: EndpointBase;
  /** Whether the attempt sends a large message. */
  readonly isLarge: boolean;
  readonly #request: StreamRequest;
  readonly #listener: StreamListener;
  #session: ClientHttp2Session | undefined;
  #stream: ClientHttp2Stream | undefined;
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
   * Starts on a session that has a free stream. Returns the failure when the request cannot be made: it has not started, and `fail` should
   * follow.
   */
  start(session: ClientHttp2Session, host: StreamHost): TransportFailure | undefined {
    if (this.#isWaiting) this.#listener.waiting?.(false);
    this.#isWaiting = false;
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(this.#headers(), NO_OPTIONS);
    } catch (cause) {
      return clientFailure(cause); // A header HTTP/2 forbids, or a session that closed this very moment.
    }
    this.#session = session;
    this.#stream = stream;
    this.#host = host;
    this.carriesLargeMessage(this.isLarge);
    (stream as OwnedStream)[owner] = this;
    stream.on("response", onResponse);
    stream.on("data", onData);
    stream.on("end", onEnd);
    stream.on("drain", onDrain);
    stream.on("error", onError);
    stream.on("close", onClose);
    if (this.#readingPaused) stream.pause();
    this.#flushPending(stream);
    return undefined;
  }

  /** The pool could not start it, or its session died before it was given to Node. */
  fail(failure: TransportFailure): void {
    if (this.#over) return;
    this.#over = true;
    this.#pending = undefined;
    this.#listener.failed(failure);
  }

  write(bytes: Uint8Array): boolean {
    if (this.#over || this.#requestEnded) return true;
    const stream = this.#stream;
    // The endpoint has answered and takes no more (RFC 9113 §8.1): a write would fail, and with it what is not read yet of the response.
    if (stream?.closed === true) return true;
    if (stream !== undefined) return stream.write(bytes);
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
    const stream = this.#stream;
    if (stream === undefined || stream.closed) return;
    // `close` sends END_STREAM before the reset: the peer would take half a request for a complete one. A signal resets with CANCEL at
    // once.
    if (!this.#requestEnded) return void addAbortSignal(ABORTED, stream);
    stream.close(constants.NGHTTP2_CANCEL);
    stream.resume(); // Bytes that have arrived already are discarded, so that the stream can close.
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
    const isBusy = isLarge || (this.isLarge && this.#stream !== undefined);
    if (this.#carriesLargeMessage === isBusy) return;
    this.#carriesLargeMessage = isBusy;
    this.#host?.largeMessage(isBusy);
  }

  /** Pseudo headers first, in one flat list: Node takes it as it is instead of copying an object. */
  #headers(): string[] {
    const { base } = this;
    const { method, path, headers } = this.#request;
    const list = [
      ":method",
      method,
      ":scheme",
      base.secure ? "https" : "http",
      ":authority",
      base.authority,
      ":path",
      requestTarget(base, path),
    ];
    for (const name in headers) list.push(name, headers[name]!);
    return list;
  }

  #flushPending(stream: ClientHttp2Stream): void {
    const pending = this.#pending;
    this.#pending = undefined;
    let free = true;
    if (pending !== undefined) {
      stream.cork();
      for (const bytes of pending) free = stream.write(bytes);
      stream.uncork();
    }
    if (this.#requestEnded) stream.end();
    if (free && this.#pendingBytes >= PENDING_WRITE_BYTES) this.#listener.drain();
  }

  onResponse(stream: ClientHttp2Stream, headers: Record<string, unknown>): void {
    this.#answered = true;
    if (!stream.endAfterHeaders) this.#bytesLeft = Number(headers["content-length"]);
    if (!this.#over) this.#listener.response(headers[":status"] as number, headers as Record<string, string | undefined>);
  }

  onData(chunk: Uint8Array): void {
    this.#bytesLeft -= chunk.length;
    if (!this.#over) this.#listener.data(chunk);
  }

  onDrain(): void {
    if (!this.#over) this.#listener.drain();
  }

  /**
   * Node also ends the readable end of a stream that was reset or whose connection broke; here these cases are distinguished. A reset
   * without an error looks like END_STREAM: only an announced length shows that something is missing.
   */
  onEnd(stream: ClientHttp2Stream): void {
    if (!this.#over) this.#ended(stream);
    // Node would never close it while a write waits for the window that a reset without an error took away, and it would count against its
    // session for as long.
    if (stream.closed && !stream.writableFinished) stream.destroy();
  }

  #ended(stream: ClientHttp2Stream): void {
    if (this.#session!.destroyed) this.fail(lostFailure("closed by the peer"));
    else if (wasReset(stream) || this.#bytesLeft > 0) this.#failReset(stream);
    else {
      this.#over = true;
      this.#listener.end();
    }
  }

  /** Errors after the last event belong to a finished exchange, e.g. a write that the peer no longer reads. */
  onError(stream: ClientHttp2Stream, cause: unknown): void {
    if (this.#over) return;
    if (errorCodeOf(cause) === "ERR_HTTP2_STREAM_ERROR") this.#failReset(stream);
    else this.fail(lostFailure(cause));
  }

  onClose(stream: ClientHttp2Stream): void {
    if (wasReset(stream)) this.#failReset(stream);
    else this.fail(lostFailure("closed before the end of the response"));
    this.#stream = undefined;
    this.#session = undefined;
    this.carriesLargeMessage(false);
    const host = this.#host;
    this.#host = undefined;
    host?.streamClosed();
  }

  #failReset(stream: ClientHttp2Stream): void {
    if (this.#answered || !wasRefused(stream)) return this.fail(resetFailure(stream.rstCode));
    this.#host?.streamRefused();
    this.fail(unprocessedFailure(stream.rstCode));
  }
}

// Node calls listeners with the stream as `this`. Shared by all streams: six closures each would be most of what a stream allocates.

function onResponse(this: OwnedStream, headers: Record<string, unknown>): void {
  this[owner]?.onResponse(this, headers);
}
function onData(this: OwnedStream, chunk: Uint8Array): void {
  this[owner]?.onData(chunk);
}
function onEnd(this: OwnedStream): void {
  this[owner]?.onEnd(this);
}
function onDrain(this: OwnedStream): void {
  this[owner]?.onDrain();
}
function onError(this: OwnedStream, cause: unknown): void {
  this[owner]?.onError(this, cause);
}
function onClose(this: OwnedStream): void {
  this[owner]?.onClose(this);
  // Node's table of streams leaves old copies of itself behind, which the young generation's collector cannot distinguish from live ones:
  // the attempt must not be kept with the stream.
  this[owner] = undefined;
}

function wasReset(stream: ClientHttp2Stream): boolean {
  return stream.rstCode !== undefined && stream.rstCode !== constants.NGHTTP2_NO_ERROR;
}

function wasRefused({ rstCode }: ClientHttp2Stream): boolean {
  return rstCode === constants.NGHTTP2_REFUSED_STREAM || rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM;
}
