/**
 * The input of this package: facts about an invocation that the caller has read. Explanations are functions of them: the same facts give
 * the same answer.
 */
import type { InvocationId } from "@perdure/base";
import type { AttemptError, Invocation, JournalEntry, JournalEvent } from "@perdure/state-machine";

/** Extent of the endpoint's answer: none, response headers alone, or messages of the service protocol. */
export type EndpointAnswer = "nothing" | "headers" | "messages";

/** State of an invocation in its invoker, when an invoker holds it. */
export interface InvokerView {
  readonly inFlight: boolean;
  /** Attempts since this run began: 1 while the first is running, 0 while the invocation waits for a slot. */
  readonly retryCount: number;
  readonly lastStartAtMs: number | undefined;
  /** Undefined before the delay begins and after it ended. */
  readonly nextRetryAtMs: number | undefined;
  readonly lastAttemptDeploymentId: string | undefined;
  readonly lastFailure: AttemptError | undefined;
  /** Future that the running handler awaits, as JSON in the form of introspection; only SDKs on service protocol 7 report it. */
  readonly lastAwaitingJson: string | undefined;
  /** Set while the invocation waits for a slot of its worker. */
  readonly slotWait?: { readonly sinceMs: number } | undefined;
  /** Extent of the endpoint's answer in the running attempt. Undefined when no attempt runs, and from workers of earlier versions. */
  readonly endpointAnswer?: EndpointAnswer | undefined;
}

/** Stored and in-memory state of one invocation. */
export interface InvocationSnapshot {
  readonly invocation: Invocation;
  readonly held: InvokerView | undefined;
  /** Entries from index 0; fewer than `invocation.journal.length` when the journal exceeds the bound of the read. */
  readonly entries: readonly JournalEntry[];
  /** Events in no particular order. */
  readonly events: readonly JournalEvent[];
}

/** State of an object's lock for an invocation that waits for it. */
export interface LockFacts {
  readonly holder: InvocationId | undefined;
  /** An operator has paused the object's queue: the lock is not granted to further invocations. */
  readonly isPaused: boolean;
  /** Invocations before this one in the queue, without the holder. */
  readonly ahead: number;
  /** Whether the queue is longer than the counted part. */
  readonly aheadIsLeast: boolean;
}

/** One level of flow control on which an invocation needs a slot. */
interface LimitFacts {
  /** `scope`, `scope/level1` or `scope/level1/level2`, as concrete names. */
  readonly name: string;
  /** Pattern of the rule that applies; undefined when none does. */
  readonly rule: string | undefined;
  readonly used: number;
  /** Concurrency limit; undefined when there is none. */
  readonly limit: number | undefined;
  readonly waiting: number;
  /** Time at which the rate of the rule admits the next invocation; undefined when a rate is not the limit in effect. */
  readonly nextAtMs: number | undefined;
  /** Whether this level blocks the invocation. */
  readonly isFull: boolean;
}

/** Flow control for an invocation that waits for a slot. */
export interface FlowFacts {
  readonly scope: string;
  readonly limitKey: string | undefined;
  readonly levels: readonly LimitFacts[];
  /** An operator has paused the invocation's queue. */
  readonly isQueuePaused: boolean;
  /** Position in its own queue, 1 = next; undefined when it is not available. */
  readonly place: number | undefined;
}

/** The deployment that attempts go to, from the registry as it is now. */
export interface RouteFacts {
  /**
   * `gone`: its deployment was removed · `noService`: no deployment serves it · `handlerRemoved`: the deployment no longer has the handler.
   */
  readonly kind: "found" | "gone" | "noService" | "handlerRemoved";
  /** The deployment; undefined with `noService`. */
  readonly deploymentId: string | undefined;
  /** Whether the deployment is fixed by the invocation's first attempt. */
  readonly isPinned: boolean;
  /** The retry policy that applies; undefined `attemptsMax`: unlimited. */
  readonly retry: { readonly attemptsMax: number | undefined; readonly onMaxAttempts: "pause" | "kill" } | undefined;
  /** Time for which a waiting handler keeps its stream; 0 when it suspends at once. Undefined when the registry has no value. */
  readonly idleMs: number | undefined;
}

/** Facts about the surroundings of an invocation. */
export interface InvocationContext {
  /** Facts of the lock, only while the invocation queues for an object. */
  readonly lock: LockFacts | undefined;
  /** Facts of flow control, only while the invocation waits for a slot. */
  readonly flow: FlowFacts | undefined;
  readonly route: RouteFacts;
}
