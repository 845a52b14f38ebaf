/** The port towards user endpoints: a transport opens byte streams and has no notion of invocations. */
import type { EndpointAddress } from "@perdure/control";

export interface StreamRequest {
  readonly address: EndpointAddress;
  readonly method: "GET" | "POST";
  /** Appended to the address's base path, e.g. `/invoke/Service/handler`. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body is available when the request is ended at once (request/response), so drivers that buffer can do so. */
  readonly requestResponse: boolean;
  /** The request begins with many bytes: it should not share a connection with small requests. */
  readonly isLarge?: boolean | undefined;
  /** Number of the invocation's attempt in its run, from 1. Undefined for requests that are not attempts. */
  readonly attempt?: number | undefined;
  /** W3C `traceparent` of the invocation's own span, whose child span is the attempt in `headers`. Undefined for untraced invocations. */
  readonly invocationTraceparent?: string | undefined;
  /** Set for the first attempt of a run that another process began and did not end; for observers of attempts. */
  readonly lost?: LostAttempt | undefined;
}

/** An attempt whose process has ended, as far as stored data shows: its run began and was taken over at these times (ms since 1970). */
export interface LostAttempt {
  readonly sinceMs: number;
  readonly atMs: number;
}

/**
 * `connect` no connection was established · `reset` the connection broke or the peer reset the stream · `protocol` the peer violates HTTP
 * · `http11Peer` the peer answers HTTP/2 with an older version · `client` the request is invalid, or the remote side ran it and failed ·
 * `denied` the egress guard refuses the destination · `refused` the peer accepts no streams on this connection now and has not processed
 * this one (RFC 9113 §8.7), another connection may accept it.
 */
export type TransportFailure = {
  readonly kind: "connect" | "reset" | "protocol" | "http11Peer" | "client" | "denied" | "refused";
  readonly message: string;
};

/** Called by the transport, never inside `open` and never after `end` or `failed`, of which at most one is called. */
export interface StreamListener {
  response(status: number, headers: Readonly<Record<string, string | undefined>>): void;
  /** The chunk is never written to again, but may be a slice of a much larger buffer: copy what is kept after the turn. */
  data(chunk: Uint8Array): void;
  /** The response ended cleanly. */
  end(): void;
  failed(failure: TransportFailure): void;
  /** `write` may be called freely again. */
  drain(): void;
  /**
   * The stream waits for a connection that accepts it, or no longer waits. True may be passed inside `open`; false is not passed for a
   * stream that fails.
   */
  waiting?(isWaiting: boolean): void;
}

export interface EndpointStream {
  /** Returns false: stop writing until `drain`. Neither the caller nor the transport changes the bytes afterwards. */
  write(bytes: Uint8Array): boolean;
  /** Half-close the request. */
  end(): void;
  /** Reset the stream (CANCEL); the listener receives no more calls. */
  abort(): void;
  /** Stop and resume reading the response. */
  pauseReading(): void;
  resumeReading(): void;
  /**
   * A large message is being sent on this stream, or no longer. Everything else on its connection waits behind it, so new streams should
   * use another connection until then.
   */
  carriesLargeMessage?(isLarge: boolean): void;
  /** Reports to observers how this attempt ended, which the bytes alone do not show. The stream may still drain. */
  concluded?(how: "ended" | "suspended" | "failed", errorCode: string | undefined): void;
}

export interface EndpointTransport extends AsyncDisposable {
  open(request: StreamRequest, listener: StreamListener): EndpointStream;
}
