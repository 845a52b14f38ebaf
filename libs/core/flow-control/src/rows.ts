/**
 * Rows of flow control for introspection, as plain data. Times are milliseconds since 1970; durations milliseconds. A row is a copy
 * that does not change later.
 */
import type { InvocationId, VqueueId } from "@perdure/base";
import type { FlowRate } from "./rule.js";

export type FlowLevel = "Scope" | "Level1" | "Level2";

/** Reason for which the head of a queue cannot start. */
export type FlowBlock =
  /** The queue was paused by an operator. */
  | { readonly kind: "paused" }
  /** The rule allows no further invocation at this level: as many run as it permits. */
  | { readonly kind: "concurrency"; readonly level: FlowLevel; readonly rule: string; readonly limit: number }
  /** The bucket of this level is empty; `untilMs`: when it allows the next start. */
  | { readonly kind: "rate"; readonly level: FlowLevel; readonly rule: string; readonly untilMs: number }
  /** The object's lock is held. */
  | { readonly kind: "lock"; readonly lockName: string; readonly holder: InvocationId | undefined };

/** A virtual queue: a service's calls under one limit key of a scope, or the calls that share an object's lock. */
export interface FlowQueueRow {
  readonly partitionKey: bigint;
  readonly id: VqueueId;
  /** Undefined for a paused queue without entries, of which only the id is stored. */
  readonly service: string | undefined;
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
  /** `Service/key` of an object. */
  readonly lockName: string | undefined;
  readonly paused: boolean;
  readonly createdAtMs: number;
  readonly lastEnqueuedAtMs: number | undefined;
  readonly lastStartAtMs: number | undefined;
  readonly inboxCount: number;
  readonly runningCount: number;
  readonly suspendedCount: number;
  /** Entries that are paused themselves. */
  readonly pausedCount: number;
  /** The first entry that waits. */
  readonly head: FlowHead | undefined;
}

export interface FlowHead {
  readonly entryId: string;
  /** Undefined: nothing blocks it, it is about to start. */
  readonly blockedOn: FlowBlock | undefined;
  /** Time since which the invocation waits. */
  readonly sinceMs: number;
}

export type FlowStage = "inbox" | "running" | "suspended" | "paused";

/** One unfinished invocation (or waiting state edit) of a queue. */
export interface FlowEntryRow {
  readonly partitionKey: bigint;
  readonly queueId: VqueueId;
  /** An invocation id; a state edit has no id of its own: `lockName#sequence`. */
  readonly entryId: string;
  readonly entryKind: "invocation" | "state-mutation";
  readonly stage: FlowStage;
  /** `new`: never ran; `scheduled`: begins later; `started`: runs or ran. */
  readonly status: "new" | "scheduled" | "started";
  readonly hasLock: boolean;
  /** Earliest start of a delayed invocation. */
  readonly runAtMs: number | undefined;
  /** Order of arrival of the entries, as far as it is stored. */
  readonly sequence: number;
  readonly priority: number;
  readonly createdAtMs: number;
  readonly transitionedAtMs: number;
  readonly firstStartAtMs: number | undefined;
  /** Number of times that the invocation was handed to the invoker. */
  readonly runCount: number;
  readonly deploymentId: string | undefined;
}

/** The live counter of a scope or limit key that is in use. */
export interface FlowLimitRow {
  readonly partitionKey: bigint;
  readonly scope: string;
  readonly l1: string | undefined;
  readonly l2: string | undefined;
  readonly level: FlowLevel;
  readonly usage: number;
  /** Undefined: no rule limits it. */
  readonly limit: number | undefined;
  /** Pattern of the rule that applies. */
  readonly rule: string | undefined;
  /** Number of queues that wait under it. */
  readonly waiterCount: number;
}

/** A token bucket that is in use. */
export interface FlowBucketRow {
  readonly partitionKey: bigint;
  readonly scope: string;
  readonly l1: string | undefined;
  readonly l2: string | undefined;
  readonly rule: string;
  readonly rate: FlowRate;
  /** Number of starts that it would allow at once. */
  readonly available: number;
}

/** Reasons for which one invocation waits for a slot. */
export interface FlowWait {
  readonly scope: string;
  readonly limitKey: string | undefined;
  readonly sinceMs: number;
  /** Levels from the scope down; those without a rule are left out. */
  readonly levels: readonly FlowWaitLevel[];
  readonly isQueuePaused: boolean;
  /** Place among the waiting entries of its own queue, 1 = next. */
  readonly place: number;
}
export interface FlowWaitLevel {
  /** `scope`, `scope/l1` or `scope/l1/l2`. */
  readonly name: string;
  readonly rule: string;
  readonly used: number;
  readonly limit: number | undefined;
  /** Number of invocations that wait at this level and below. */
  readonly waiting: number;
  /** Time at which the rate of the rule allows the next start; undefined when it allows it now or does not matter. */
  readonly nextAtMs: number | undefined;
  /** Whether this level blocks it. */
  readonly isFull: boolean;
}

/** Limits that only the scheduler has. */
export interface FlowLimits {
  readonly limits: readonly FlowLimitRow[];
  readonly buckets: readonly FlowBucketRow[];
}

export interface FlowRows extends FlowLimits {
  readonly queues: readonly FlowQueueRow[];
  readonly entries: readonly FlowEntryRow[];
}
