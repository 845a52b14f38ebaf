/** The interfaces between the invoker and the partition: effects come in (`Invoker`), attempt commands go out (`InvokerHost`). */
import type { InvocationId } from "@perdure/base";
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

/** Calls of the processor that the invoker uses. */
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

/** Calls of the invoker that the processor uses. All of them return at once. */
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
  /** Returns the facts that introspection shows of an invocation that the invoker runs. */
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

/** Extent of the endpoint's answer in an attempt: nothing, response headers alone, or messages of the service protocol. */
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
