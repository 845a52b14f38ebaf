/**
 * The invoker's two sides. Towards the partition: effects come in (`Invoker`), attempt commands go out (`InvokerHost`).
 * Towards the endpoint: a transport that opens byte streams and knows nothing of invocations.
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
} from "@perdure/partition";

/** What the processor offers the invoker. */
export interface InvokerHost {
  /** Queue a command for the invocation's partition; order is kept, late runs are dropped there. */
  submit(command: AttemptCommand): void;
  /** Called once everything submitted before is durable and its effects were performed. */
  whenDurable(callback: () => void): void;
  /**
   * Writes the body of a large command before the command is submitted, so that commits of others do not wait for it. Resolves when that is
   * durable; the result is disposed of when the command is durable or dropped. Rejections may be ignored: the command's commit writes it then.
   * Undefined where bodies are only written with their commands.
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
   * Begins no attempt from now on, and requests handlers that wait to suspend. Resolves when no attempt runs any more, or with disposal: their
   * commands are submitted by then. A caller that needs an end sooner disposes of the invoker.
   */
  finishAttempts(): Promise<void>;
  /** What introspection shows of an invocation the invoker holds. */
  status(id: InvocationId): InvokerStatus | undefined;
  statuses(): Iterable<InvokerStatus>;
}

/** An attempt that was cut off on request. */
export interface CutAttempt {
  /** Of the invocation's present run, from 1. */
  readonly attempt: number;
  /** Entries that were durable when it was cut: what the next attempt replays at least. */
  readonly journalLength: number;
}

/** A wait of a run for a slot of its worker. */
export interface SlotWait {
  readonly service: string;
  /** A caller waits for its result, or it goes on after a suspension. */
  readonly isContinuation: boolean;
  readonly sinceMs: number;
}

/** What the endpoint has sent in an attempt: nothing, response headers alone, or messages of the service protocol. */
export type EndpointAnswer = "nothing" | "headers" | "messages";

/** The volatile view behind `sys_invocation_state`. */
export interface InvokerStatus {
  readonly id: InvocationId;
  readonly inFlight: boolean;
  /** Attempts since this run began, 1 while the first is running; 0 while waiting for a slot. */
  readonly retryCount: number;
  readonly lastStartAtMs: number | undefined;
  readonly nextRetryAtMs: number | undefined;
  readonly lastAttemptDeploymentId: string | undefined;
  readonly lastAttemptServer: string | undefined;
  readonly lastFailure: AttemptError | undefined;
  readonly lastAwaitingJson: string | undefined;
  /** While it waits for a slot. Workers of earlier versions send none. */
  readonly slotWait?: SlotWait | undefined;
  /** While an attempt runs. Workers of earlier versions send none. */
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
  /** The whole body is known when the request is ended at once (request/response); lets drivers that buffer do so. */
  readonly requestResponse: boolean;
  /** Much is sent at once: it should not share a connection with small requests. */
  readonly isLarge?: boolean | undefined;
  /** Of an invocation: which attempt of its run this is, from 1. Undefined for other questions. */
  readonly attempt?: number | undefined;
  /** W3C `traceparent` of the invocation's own span, whose child the attempt in `headers` is. Undefined for untraced ones. */
  readonly invocationTraceparent?: string | undefined;
  /** With the first attempt of a run that another process began and did not end: for who watches attempts. */
  readonly lost?: LostAttempt | undefined;
}

/** An attempt whose process is gone, as far as it is known: its run began and was taken over at these times (ms since 1970). */
export interface LostAttempt {
  readonly sinceMs: number;
  readonly atMs: number;
}

/**
 * `connect` no connection came about · `reset` it broke or the peer gave the stream up · `protocol` the peer breaks HTTP ·
 * `http11Peer` it answers HTTP/2 with something older · `client` the request cannot be made, or the far side ran it and failed ·
 * `denied` the egress guard does not let us go there · `refused` the peer takes no streams on this connection now and has not processed
 * this one (RFC 9113 §8.7), another connection may take it.
 */
export type TransportFailure = {
  readonly kind: "connect" | "reset" | "protocol" | "http11Peer" | "client" | "denied" | "refused";
  readonly message: string;
};

/** Called by the transport, never inside `open` and never after `end` or `failed`, of which at most one is called. */
export interface StreamListener {
  response(status: number, headers: Readonly<Record<string, string | undefined>>): void;
  /** The chunk is never written to again, but may be a slice of much larger memory: copy what outlives the turn. */
  data(chunk: Uint8Array): void;
  /** The response ended cleanly. */
  end(): void;
  failed(failure: TransportFailure): void;
  /** `write` may be called freely again. */
  drain(): void;
  /**
   * The stream waits for a connection with room for it, or no longer. True may be called inside `open`; false is not called for a stream that
   * fails.
   */
  waiting?(isWaiting: boolean): void;
}

export interface EndpointStream {
  /** False: stop writing until `drain`. The bytes must not change afterwards; nobody else changes them either. */
  write(bytes: Uint8Array): boolean;
  /** Half-close the request. */
  end(): void;
  /** Reset the stream (CANCEL); the listener hears nothing more. */
  abort(): void;
  /** Stop and resume reading the response. */
  pauseReading(): void;
  resumeReading(): void;
  /**
   * A large message is on its way on this stream, or no longer. Everything else on its connection waits behind it, so new streams should have
   * another one meanwhile.
   */
  carriesLargeMessage?(isLarge: boolean): void;
  /** For who watches attempts: how this one ended, which the bytes alone do not tell. The stream may still drain. */
  concluded?(how: "ended" | "suspended" | "failed", errorCode: string | undefined): void;
}

export interface EndpointTransport extends AsyncDisposable {
  open(request: StreamRequest, listener: StreamListener): EndpointStream;
}
