/**
 * Why: what this package is told about an invocation. Everything is a value that somebody else has read, so that explaining is a
 * function: the same facts give the same answer.
 */
import type { InvocationId } from "@perdure/base";
import type { AttemptError, Invocation, JournalEntry, JournalEvent } from "@perdure/partition";

/** Nothing, response headers alone, or messages of the service protocol. */
export type EndpointAnswer = "nothing" | "headers" | "messages";

/** An invocation as its invoker sees it, when one holds it. */
export interface InvokerView {
  readonly inFlight: boolean;
  /** Attempts since this run began, 1 while the first is running; 0 while it waits for a slot. */
  readonly retryCount: number;
  readonly lastStartAtMs: number | undefined;
  /** Undefined until the delay has begun, and once it is over. */
  readonly nextRetryAtMs: number | undefined;
  readonly lastAttemptDeploymentId: string | undefined;
  readonly lastFailure: AttemptError | undefined;
  /** What the running handler says it waits for, as introspection writes it; only SDKs on service protocol 7 say so. */
  readonly lastAwaitingJson: string | undefined;
  /** While it waits for a slot of its worker. */
  readonly slotWait?: { readonly sinceMs: number } | undefined;
  /** What the endpoint has sent in the running attempt. Undefined when none runs, and from workers of earlier versions. */
  readonly endpointAnswer?: EndpointAnswer | undefined;
}

/** What is stored of one invocation, and held in memory. */
export interface InvocationSnapshot {
  readonly invocation: Invocation;
  readonly held: InvokerView | undefined;
  /** From index 0; fewer than `invocation.journal.length` when the journal is too long to be read for this. */
  readonly entries: readonly JournalEntry[];
  /** In no particular order. */
  readonly events: readonly JournalEvent[];
}

/** The object's lock, as somebody who waits for it sees it. */
export interface LockFacts {
  readonly holder: InvocationId | undefined;
  /** Somebody has paused the object's queue: nobody new gets the lock. */
  readonly isPaused: boolean;
  /** How many stand before this one in the queue, the holder not counted. */
  readonly ahead: number;
  /** The queue is longer than what was counted. */
  readonly aheadIsLeast: boolean;
}

/** One level of flow control that an invocation needs room on. */
export interface LimitFacts {
  /** `scope`, `scope/level1` or `scope/level1/level2`, as concrete names. */
  readonly name: string;
  /** Pattern of the rule that applies; undefined when none does. */
  readonly rule: string | undefined;
  readonly used: number;
  /** Undefined: without limit on how many run at once. */
  readonly limit: number | undefined;
  readonly waiting: number;
  /** When the rate of the rule lets the next one go; undefined when a rate is not what holds it. */
  readonly nextAtMs: number | undefined;
  /** Whether this level is what holds the invocation. */
  readonly isFull: boolean;
}

/** Flow control, as somebody who waits for a slot sees it. */
export interface FlowFacts {
  readonly scope: string;
  readonly limitKey: string | undefined;
  readonly levels: readonly LimitFacts[];
  /** Somebody has paused the queue it stands in. */
  readonly isQueuePaused: boolean;
  /** Place in its own queue, 1 = next; undefined when unknown. */
  readonly place: number | undefined;
}

/** Where its attempts go, from the registry as it is now. */
export interface RouteFacts {
  /** `gone`: its deployment was removed · `noService`: none serves it · `handlerRemoved`: the deployment no longer describes it. */
  readonly kind: "found" | "gone" | "noService" | "handlerRemoved";
  /** The deployment meant; undefined with `noService`. */
  readonly deploymentId: string | undefined;
  /** Whether the deployment is fixed by the invocation's first attempt. */
  readonly isPinned: boolean;
  /** Of the policy that applies; undefined attempts = without end. */
  readonly retry: { readonly attemptsMax: number | undefined; readonly onMaxAttempts: "pause" | "kill" } | undefined;
  /** How long a handler that waits keeps its stream; 0 when it cannot wait with one. Undefined when the registry does not know. */
  readonly idleMs: number | undefined;
}

/** What stands around an invocation. */
export interface InvocationContext {
  /** Only while it queues for an object. */
  readonly lock: LockFacts | undefined;
  /** Only while it waits for a slot. */
  readonly flow: FlowFacts | undefined;
  readonly route: RouteFacts;
}
