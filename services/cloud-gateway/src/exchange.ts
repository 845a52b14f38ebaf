/**
 * One request and its answer, whatever HTTP version carries it. An exchange moves bytes and does not depend on environments; it calls its
 * owner about the body, room to write, and a client that is gone.
 */

/** Receives the body of a request. */
export interface BodyReceiver {
  /** The bytes may share memory with a larger network buffer. */
  data(chunk: Uint8Array): void;
  /** The body was received completely. */
  end(): void;
}

/** Observes how the answer is sent. */
export interface AnswerObserver {
  /** There is room again after `write` returned false. */
  drained(): void;
  /** The client is gone before the end of the answer. At most once, and never behind `finished`. */
  gone(): void;
  /** The answer was handed to the connection, whole. */
  finished(): void;
  /** The body cannot be read any further; nothing was answered yet, and still can be. */
  unreadable(): void;
}

export abstract class Exchange {
  /** The listener, by the name that its owner gave it. */
  readonly remoteAddress: string;
  readonly isSecure: boolean;
  /** Name in the TLS handshake, lower case; undefined without TLS or name. */
  readonly serverName: string | undefined;

  observer: AnswerObserver | undefined = undefined;
  /** The answer has begun. */
  headersSent = false;
  /** Answered, abandoned or aborted: nothing more may be sent. */
  over = false;

  constructor(remoteAddress: string, isSecure: boolean, serverName: string | undefined) {
    this.remoteAddress = remoteAddress;
    this.isSecure = isSecure;
    this.serverName = serverName;
  }

  /** Delivers the body; bytes may come in the same turn. */
  abstract startBody(receiver: BodyReceiver): void;
  abstract pauseBody(): void;
  abstract resumeBody(): void;
  /** Whether the request was received completely. */
  abstract get bodyIsComplete(): boolean;
  protected abstract begin(status: number, headers: string[], bodyFollows: boolean): void;
  protected abstract push(chunk: Uint8Array | string): boolean;
  protected abstract complete(): void;
  protected abstract cut(): void;
  /** Closes the whole connection without an answer. */
  abstract drop(): void;

  /** Begins an answer whose body follows by `write` and `end`. `headers`: names and values in turn. */
  start(status: number, headers: string[]): void {
    if (this.over || this.headersSent) return;
    this.headersSent = true;
    this.begin(status, headers, true);
  }

  /** False: wait for `drained`. */
  write(chunk: Uint8Array): boolean {
    return this.over || this.push(chunk);
  }

  end(): void {
    if (this.over) return;
    this.over = true;
    this.complete();
    this.observer?.finished();
  }

  /** Sends a whole answer. */
  send(status: number, headers: string[], body: string): void {
    if (this.over || this.headersSent) return;
    this.headersSent = true;
    this.over = true;
    const hasBody = status !== 204 && status !== 304;
    if (hasBody) headers.push("content-length", String(Buffer.byteLength(body)));
    this.begin(status, headers, hasBody && body !== "");
    if (hasBody && body !== "") this.push(body);
    this.complete();
    this.observer?.finished();
  }

  /** Ends an answer early, so that the client can see that it is incomplete. */
  abort(): void {
    if (this.over) return;
    this.over = true;
    this.cut();
  }

  /** For subclasses: the client went away, or its connection broke. */
  protected abandoned(): void {
    if (this.over) return;
    this.over = true;
    this.observer?.gone();
  }
}
