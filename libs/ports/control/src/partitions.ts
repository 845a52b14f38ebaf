/**
 * Requests of roles to the partitions of an environment, wherever their leader is. The hot path (`invoke`) calls back instead of
 * returning promises; everything else is rare enough for them.
 */
import type { InvocationId } from "@perdure/base";
import type {
  CommandAnswer,
  Invocation,
  Invoke,
  Outcome,
  PartitionCommand,
  Throttled,
  ThrottleKeysFull,
} from "@perdure/state-machine";

/** The outcome of an invocation for its caller. */
export interface Completion {
  readonly outcome: Outcome;
  /** Set when the response is served from a stored, already completed result: when that is deleted (ms since epoch). */
  readonly expiresAtMs: number | undefined;
}

/** Receives the progress of a submitted invocation. Each method is called at most once; after `unavailable` none of the others. */
export interface InvokeObserver {
  /** Durable. `previous` is the invocation that already existed under this id. */
  submitted(previous: Invocation | undefined): void;
  /** Called with the completion, only when `wait` is true. */
  completed(completion: Completion): void;
  /** Only for a command with a throttle, instead of all others: the partition refused it. Without the method: `unavailable`. */
  throttled?(refusal: Throttled | ThrottleKeysFull): void;
  /** The partition could not accept the command; it may or may not be stored. */
  unavailable(reason: string): void;
}

export interface Detach {
  detach(): void;
}

export interface Partitions {
  /**
   * Submits an invocation. With `wait`, also reports its outcome when there is one (also of a previous one under the same id).
   * Detaching stops the reports, never the invocation.
   */
  invoke(command: Invoke, wait: boolean, observer: InvokeObserver): Detach;
  /** Waits for the outcome of `id`; `notFound` when no record of it exists. */
  attach(
    id: InvocationId,
    observer: { completed(completion: Completion): void; notFound(): void; unavailable(reason: string): void },
  ): Detach;
  /** Returns the outcome if there is one. */
  output(id: InvocationId): Promise<{ kind: "completed"; completion: Completion } | { kind: "pending" } | { kind: "notFound" }>;
  /** Returns the invocation as applied now; undefined when no record of it exists. */
  describe(id: InvocationId): Promise<Invocation | undefined>;
  /** Submits any other command; resolves when it is durable. Throws PerdureError when the partition is unavailable. */
  submit(command: Exclude<PartitionCommand, Invoke>): Promise<CommandAnswer>;
}
