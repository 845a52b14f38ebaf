/**
 * An invocation as the partition stores it: what never changes after submit (`facts`), the progress of its journal, and the data of its
 * present status. Values are immutable; a transition puts a new one.
 */
import type { DeploymentId, InvocationId, SubscriptionId } from "@perdure/base";
import type { Failure, Future } from "@perdure/service-protocol";
import type { EventOrigin } from "./event/subscription.js";
import { isWorkflowRun, type Target } from "./target.js";

/** The origin of an invocation. */
export type Source =
  | { readonly kind: "ingress" }
  | { readonly kind: "service"; readonly callerId: InvocationId; readonly callerTarget: Target }
  | { readonly kind: "subscription"; readonly subscriptionId: SubscriptionId }
  | { readonly kind: "restart"; readonly from: InvocationId };

/** W3C trace context of the invocation's own span; absent when tracing is off. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | undefined;
}

/** Where the journal of a fork was cut, and which results in it are not those of its source. */
export interface ForkFacts {
  /** Index, in the journal of the source, of the last entry that was kept. */
  readonly atEntry: number;
  /** Indexes, in the journal of the source, of the steps whose results were edited; ascending. */
  readonly editedSteps: readonly number[];
}

/** What a debounced invocation has in common with later sends of its key. */
export interface Debounce {
  /** Separates bursts of one target; empty when the sender gave none. */
  readonly key: string;
  /** The invocation starts now at the latest, however many sends follow. Chosen by the first send. */
  readonly startByMs: number;
  /** Sends that became this invocation. */
  readonly sendCount: number;
}

/** Fixed at submit; a debounced invocation has new ones with each send until it starts. `bytes` caches the stored form, so that it is encoded once per generation. */
export interface InvocationFacts {
  readonly id: InvocationId;
  readonly target: Target;
  readonly source: Source;
  readonly idempotencyKey: string | undefined;
  /** `a` or `a/b` within the target's scope; never without a scope. */
  readonly limitKey: string | undefined;
  /** 1 (first) to 5 (last) among the invocations that wait under the same limit key; `PRIORITY_DEFAULT` when none was given. */
  readonly priority: number;
  /** Chosen by the submitter; the same id again is a resubmission, not a duplicate. 0 when unused. */
  readonly requestId: number;
  readonly createdAtMs: number;
  /** Earliest start of a delayed invocation. */
  readonly executionTimeMs: number | undefined;
  readonly completionRetentionMs: number;
  readonly journalRetentionMs: number;
  /** Set only where the seed must differ from the one derived from the id (restart from a later entry). */
  readonly randomSeed: bigint | undefined;
  readonly trace: TraceContext | undefined;
  /** Only of forks, whose source is a restart. */
  readonly fork?: ForkFacts | undefined;
  /** Set for debounced sends; see `invocation/debounce.ts`. */
  readonly debounce?: Debounce | undefined;
  /** Set for deliveries of events, and for invocations that their handlers make. */
  readonly event?: EventOrigin | undefined;
  bytes: Uint8Array | undefined;
}

/** The deployment and protocol version an invocation stays on; persisted before the first effects of its first attempt. */
export interface Pinned {
  readonly deploymentId: DeploymentId;
  readonly protocolVersion: number;
}

/**
 * Identifies a generation of an id. An id made of a workflow or idempotency key may be purged and used again while a sleep or a callee
 * of its former generation is still under way; the creation time distinguishes the generations. Undefined for random ids, which are
 * used once.
 */
export type GenerationMark = number | undefined;

export function generationMark(facts: InvocationFacts): GenerationMark {
  return facts.idempotencyKey !== undefined || isWorkflowRun(facts.target) ? facts.createdAtMs : undefined;
}

/** An invocation elsewhere that waits for this one: it gets a notification under `completionId`. */
export interface Sink {
  readonly kind: "call" | "attach";
  readonly callerId: InvocationId;
  readonly callerGeneration: GenerationMark;
  readonly completionId: number;
}

/** Counters of the journal. `length` counts all entries, `commands` only what the handler made (Input included). */
export interface JournalProgress {
  readonly length: number;
  readonly commands: number;
  readonly notifications: number;
  /** Index of the last Output, -1 while there is none. */
  readonly outputIndex: number;
  /** Whether failures or pauses were recorded beside the journal. */
  readonly hasEvents: boolean;
}

export const EMPTY_PROGRESS: JournalProgress = { length: 0, commands: 0, notifications: 0, outputIndex: -1, hasEvents: false };

/** Times shown to users; undefined until reached. */
export interface Milestones {
  readonly scheduledAtMs: number | undefined;
  readonly inboxedAtMs: number | undefined;
  readonly runningAtMs: number | undefined;
  readonly completedAtMs: number | undefined;
  /**
   * When it stopped and continued after its first run, in the form of `withMove`; undefined while it never did, and in rows of earlier
   * versions.
   */
  readonly moves?: Uint8Array | undefined;
  /** When its end was undone last; callers may have been notified of that end. Undefined for all others. */
  readonly restoredAtMs?: number | undefined;
}

export type Outcome =
  | { readonly kind: "success"; readonly value: Uint8Array }
  /** `stacktrace` only when the last attempt's error became the outcome (the retry policy kills). */
  | { readonly kind: "failure"; readonly failure: Failure; readonly stacktrace: string | undefined };

interface Common {
  readonly facts: InvocationFacts;
  readonly modifiedAtMs: number;
  /** Rises each time the invocation is handed to the invoker; commands of an older run are dropped. */
  readonly run: number;
  readonly pinned: Pinned | undefined;
  readonly journal: JournalProgress;
  readonly sinks: readonly Sink[];
  readonly milestones: Milestones;
}

export interface Scheduled extends Common {
  readonly status: "scheduled";
}
/** Waits for its first start: for the lock of its object, or for a slot in its scope. */
export interface Inboxed extends Common {
  readonly status: "inboxed";
  readonly waitsFor: "lock" | "slot";
  /** Place of the invocation in the queue of the lock; 0 when it waits for a slot. */
  readonly inboxSeq: number;
}
export interface Invoked extends Common {
  readonly status: "invoked";
  /** A pause was requested; it takes effect when the running attempt stops. */
  readonly pauseRequested: boolean;
}
export interface Suspended extends Common {
  readonly status: "suspended";
  /** Future that is still awaited; leaves that are already resolved are pruned. */
  readonly awaiting: Future;
}
/** Invocation that could continue and waits for a slot in its scope. */
export interface Ready extends Common {
  readonly status: "ready";
  readonly readyAtMs: number;
}
export interface Paused extends Common {
  readonly status: "paused";
}
export interface Completed extends Common {
  readonly status: "completed";
  readonly outcome: Outcome;
}

export type Invocation = Scheduled | Inboxed | Invoked | Suspended | Ready | Paused | Completed;
/** Invocation whose journal exists and whose handler has begun or is about to begin. */
export type InFlight = Invoked | Suspended | Ready | Paused;

export function isInFlight(invocation: Invocation | undefined): invocation is InFlight {
  return (
    invocation !== undefined &&
    (invocation.status === "invoked" ||
      invocation.status === "suspended" ||
      invocation.status === "ready" ||
      invocation.status === "paused")
  );
}

/** Whether completions of its commands are stored: the handler began, also when it waits in a queue because its end was undone. */
export function takesCompletions(invocation: Invocation | undefined): invocation is InFlight | Inboxed {
  return isInFlight(invocation) || (invocation?.status === "inboxed" && hasBegun(invocation));
}

/** Whether the handler of an inboxed invocation ran before: only those whose end was undone. */
export function hasBegun(invocation: Scheduled | Inboxed): boolean {
  return invocation.run > 0;
}

/** Returns the time at which the stored result is deleted, in milliseconds since 1970; undefined while unfinished. */
export function expiresAtMs(invocation: Completed): number | undefined {
  const at = invocation.milestones.completedAtMs;
  return at === undefined ? undefined : at + invocation.facts.completionRetentionMs;
}
