/**
 * One request and its answer, independent of the HTTP version. An exchange moves bytes; it calls its observer about free buffer space and about
 * a client that has disconnected.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "@perdure/base";

/** Receives the body of a request. */
export interface BodyReceiver {
  /** The bytes may share memory with a larger network buffer. */
  data(chunk: Uint8Array): void;
  /** The body was received completely. Not called when the client disconnects before that. */
  end(): void;
}

/** Observes how the answer is sent. */
export interface ExchangeObserver {
  /** Called when more can be written after `write` returned false. */
  drained?(): void;
  /** The client disconnected before the end of the answer. At most once, and never after `finished`. */
  gone(): void;
  /** The whole answer was passed to the connection. */
  finished?(): void;
  /** The rest of the body is not valid HTTP; nothing was answered yet, and still can be. Unset: the port answers. */
  unreadable?(): void;
}

/** Settings that all exchanges of one port share. */
export interface ExchangeContext {
  readonly clock: Clock;
  readonly isSecure: boolean;
  /** Bytes of a body that are read and dropped after an early answer, to keep the connection of HTTP/1.1; above that it is closed. */
  readonly discardedBytesMax: number;
  /** Time for which a client that still sends may read its answer. */
  readonly lingerMs: number;
}

export abstract class HttpExchange {
  readonly method: string;
  /** Request target of HTTP/1.1, `:path` of HTTP/2. */
  readonly target: string;
  /** Names and values in turn, as sent; those of HTTP/2 in lower case and with pseudo-headers. */
  readonly rawHeaders: readonly string[];
  /** The same by name in lower case, repeated ones joined as Node joins them. */
  readonly headers: IncomingHttpHeaders;
  abstract readonly isHttp2: boolean;

  observer: ExchangeObserver | undefined = undefined;
  /** The answer has begun. */
  headersSent = false;
  /** Answered, abandoned or aborted: nothing more may be sent. */
  over = false;

  constructor(method: string, target: string, rawHeaders: readonly string[], headers: IncomingHttpHeaders = {}) {
    this.method = method;
    this.target = target;
    this.rawHeaders = rawHeaders;
    this.headers = headers;
  }

  /** Address of the client's end of the connection; empty when the connection has closed. */
  abstract get remoteAddress(): string;
  abstract get isSecure(): boolean;
  /** Name in the TLS handshake, lower case; undefined without TLS or name. */
  abstract get serverName(): string | undefined;
  /** Whether the request was received completely. */
  abstract get bodyIsComplete(): boolean;

  /** Delivers the body; bytes may come in the same turn. */
  abstract startBody(receiver: BodyReceiver): void;
  abstract pauseBody(): void;
  abstract resumeBody(): void;
  /** Closes the whole connection without an answer. */
  abstract drop(): void;

  protected abstract begin(status: number, headers: string[]): void;
  protected abstract push(chunk: Uint8Array | string): boolean;
  protected abstract complete(): void;
  protected abstract sendWhole(status: number, headers: string[], body: Uint8Array | string): void;
  /** Ends the connection or stream so that the client does not take the answer for complete. */
  protected abstract cut(): void;

  /** Begins an answer whose body follows by `write` and `end`. `headers`: names and values in turn. */
  start(status: number, headers: string[]): void {
    if (this.over || this.headersSent) return;
    this.headersSent = true;
    this.begin(status, headers);
  }

  /** Sends the headers of an answer that has begun and whose body may come much later. */
  flush(): void {
    if (!this.over) this.sendHeaders();
  }

  /** False: wait for `drained`. */
  write(chunk: Uint8Array): boolean {
    return this.over || this.push(chunk);
  }

  end(): void {
    if (this.over) return;
    this.over = true;
    this.complete();
    this.observer?.finished?.();
  }

  /** Sends a whole answer; `content-length` is added. Throws, and ends the connection, when a header cannot be sent. */
  send(status: number, headers: string[], body: Uint8Array | string): void {
    if (this.over || this.headersSent) return;
    this.headersSent = true;
    this.over = true;
    try {
      this.sendWhole(status, headers, body);
    } catch (cause) {
      this.cut();
      throw cause;
    }
    this.observer?.finished?.();
  }

  /** Ends an answer early, so that the client can see that it is incomplete. */
  abort(): void {
    if (this.over) return;
    this.over = true;
    this.cut();
  }

  /** By default headers are sent when the answer begins. */
  protected sendHeaders(): void {}

  /** Called by subclasses when the client disconnected or its connection broke. */
  protected abandoned(): void {
    if (this.over) return;
    this.over = true;
    this.observer?.gone();
  }
}

/** Whether an answer with this status has a body, and so a `content-length` (RFC 9110 §8.6). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 304;
}
