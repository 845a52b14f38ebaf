/**
 * The two interfaces of the invoker. To the partition: effects come in (`Invoker`), attempt commands go out (`InvokerHost`). To the
 * endpoint: a transport that opens byte streams and has no notion of invocations.
 */
import type { InvocationId } from "@perdure/base";
import type { EndpointAddress } from "@perdure/control";
import type {
  AttemptCommand,
  AttemptError,
  EntryStored,
  JournalEntry,
  RequestPause,
  RetryNow,
  StartRun,
  StopRun,
} from "@perdure/state-machine";

/** What the processor offers the invoker. */
export interface InvokerHost {
  /** Enqueues a command for the invocation's partition. Order is kept; the partition drops commands of earlier runs. */
  submit(command: AttemptCommand): void;
  /** Calls its argument once everything submitted before is durable and its effects were performed. */
  whenDurable(callback: () => void): void;
  /**
   * Writes the body of a large command before the command is submitted, so that commits of others do not wait for it. Resolves when the
   * body is durable; the result is disposed of when the command is durable or dropped. Rejections may be ignored: the command's commit
   * writes the body then. Undefined where bodies are only written with their commands.
   */
  readonly stage?: ((body: Uint8Array) => Promise<Disposable>) | undefined;
  /** Entries 0 … length-1, all durable. Rejects with PerdureError when storage fails. */
  readJournal(id: InvocationId, length: number): Promise<readonly JournalEntry[]>;
  /** All state of a key as durable now, in storage order; keys are binary strings. */
  readState(id: InvocationId, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** What the invoker offers the processor. All calls return at once. */
export interface Invoker extends AsyncDisposable {
  startRun(effect: StartRun): void;
  entryStored(effect: EntryStored): void;
  stopRun(effect: StopRun): void;
  requestPause(effect: RequestPause): void;
  retryNow(effect: RetryNow): void;
  /**
   * Begins no attempt from now on, and requests waiting handlers to suspend. Resolves when no attempt runs any more, or with disposal:
   * their commands are submitted by then. A caller that needs an earlier end disposes of the invoker.
   */
  finishAttempts(): Promise<void>;
  /** What introspection shows of an invocation that the invoker runs. */
  status(id: InvocationId): InvokerStatus | undefined;
  statuses(): Iterable<InvokerStatus>;
}

/** An attempt that was cut off on request. */
export interface CutAttempt {
  /** Number of the attempt in the invocation's present run, from 1. */
  readonly attempt: number;
  /** Entries that were durable when the attempt was cut off: the minimum that the next attempt replays. */
  readonly journalLength: number;
}

/** A wait of a run for a slot of its worker. */
export interface SlotWait {
  readonly service: string;
  /** A caller waits for the result of the run, or the run continues after a suspension. */
  readonly isContinuation: boolean;
  readonly sinceMs: number;
}

/** What the endpoint has sent in an attempt: nothing, response headers alone, or messages of the service protocol. */
export type EndpointAnswer = "nothing" | "headers" | "messages";

/** The volatile view behind `sys_invocation_state`. */
export interface InvokerStatus {
  readonly id: InvocationId;
  readonly inFlight: boolean;
  /** Attempts since this run began, 1 while the first is running; 0 while the run waits for a slot. */
  readonly retryCount: number;
  readonly lastStartAtMs: number | undefined;
  readonly nextRetryAtMs: number | undefined;
  readonly lastAttemptDeploymentId: string | undefined;
  readonly lastAttemptServer: string | undefined;
  readonly lastFailure: AttemptError | undefined;
  readonly lastAwaitingJson: string | undefined;
  /** Set while the run waits for a slot. Workers of earlier versions send none. */
  readonly slotWait?: SlotWait | undefined;
  /** Set while an attempt runs. Workers of earlier versions send none. */
  readonly endpointAnswer?: EndpointAnswer | undefined;
}

// ── transport ────────────────────────────────────────────────────────────────────────────────────

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
   * The stream waits for a connection with room for it, or no longer waits. True may be passed inside `open`; false is not passed for a
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
  /** For observers of attempts: how this attempt ended, which the bytes alone do not show. The stream may still drain. */
  concluded?(how: "ended" | "suspended" | "failed", errorCode: string | undefined): void;
}

export interface EndpointTransport extends AsyncDisposable {
  open(request: StreamRequest, listener: StreamListener): EndpointStream;
}
