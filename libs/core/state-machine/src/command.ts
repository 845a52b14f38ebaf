/**
 * The commands of a partition. Each names the invocation that it is about (the processor routes by it) and its sender, and carries
 * everything that was decided outside: the core never makes ids, times, types and retentions itself.
 */
import type { DeploymentId, InvocationId, OperationId, VqueueId } from "@perdure/base";
import type { BucketValue } from "@perdure/flow-control";
import type { Future, NotificationId, ResultValue } from "@perdure/service-protocol";
import type { AttemptError } from "./entry.js";
import type { GenerationMark, InvocationFacts, Outcome, Pinned, Sink } from "./invocation.js";
import type { Target } from "./target.js";

/** A new invocation. Sent by ingress, subscriptions, and other invocations' Call and OneWayCall. */
export interface Invoke {
  readonly kind: "invoke";
  readonly id: InvocationId;
  readonly facts: InvocationFacts;
  /** Body of the Input frame: headers and argument, encoded once by the sender. */
  readonly input: Uint8Array;
  /** The caller waiting for the result; undefined for sends and ingress. */
  readonly sink: Sink | undefined;
  /** Set by a sender that may have submitted this very command before: a random id is then looked up as well. */
  readonly resubmission?: true;
  /** Only from ingress. A new invocation is counted and may be refused; one that exists is not. */
  readonly throttle?: Throttle | undefined;
}

/** At most `limit` invocations run within `periodMs` of those with the same target and key; see `invocation/throttle.ts`. */
export interface Throttle {
  readonly key: string;
  readonly periodMs: number;
  readonly limit: number;
}

/** A caller elsewhere requests the outcome of `id`, now or when there is one. */
interface Attach {
  readonly kind: "attach";
  readonly id: InvocationId;
  readonly sink: Sink;
}

/** A caller elsewhere requests the outcome if there is one already. */
export interface QueryOutput {
  readonly kind: "queryOutput";
  readonly id: InvocationId;
  readonly callerId: InvocationId;
  readonly callerGeneration: GenerationMark;
  readonly completionId: number;
}

/** The completion of one of `id`'s commands, computed elsewhere. `body` is a notification's frame body. */
export interface Notify {
  readonly kind: "notify";
  readonly id: InvocationId;
  /** The generation of the caller that made the command; a later generation of the same id ignores the result. */
  readonly generation: GenerationMark;
  readonly type: number;
  readonly body: Uint8Array;
  /** The operation that ended the sender. A receiver that the same operation ended drops the notification: undoing it reverts both. */
  readonly endedBy?: OperationId | undefined;
  /** The sender's end was undone, so the same completion may have been delivered before: the first one counts. */
  readonly mayRepeat?: true | undefined;
}

/** A signal for `id`: awakeables, named signals, and cancellation (index 1). */
export interface SignalInvocation {
  readonly kind: "signal";
  readonly id: InvocationId;
  readonly signal: Exclude<NotificationId, { kind: "completion" }>;
  readonly result: ResultValue;
}

// ── reports of attempts; `run` fences late ones ──────────────────────────────────────────────────

/** The attempt's deployment and protocol version. Precedes everything that the attempt does; one that fails before has none. */
export interface Pin {
  readonly kind: "pin";
  readonly id: InvocationId;
  readonly run: number;
  readonly pinned: Pinned;
}

/** The handler made a journal command. `body` is the frame as it came (owned by this command). */
export interface AppendCommand {
  readonly kind: "appendCommand";
  readonly id: InvocationId;
  readonly run: number;
  readonly type: number;
  readonly body: Uint8Array;
  readonly ackRequested: boolean;
  readonly action: CommandAction;
}

/** A callee, resolved against the registry before the command is stored, so that its id is stable. */
export interface Callee {
  readonly facts: InvocationFacts;
  readonly input: Uint8Array;
}

/** The action of a journal command besides being stored. State keys are binary strings. */
export type CommandAction =
  | { readonly kind: "none" }
  | { readonly kind: "output" }
  | { readonly kind: "setState"; readonly key: string; readonly value: Uint8Array }
  | { readonly kind: "clearState"; readonly key: string }
  | { readonly kind: "clearAllState" }
  | { readonly kind: "getLazyState"; readonly key: string; readonly completionId: number }
  | { readonly kind: "getLazyStateKeys"; readonly completionId: number }
  | { readonly kind: "getPromise"; readonly key: string; readonly completionId: number }
  | { readonly kind: "peekPromise"; readonly key: string; readonly completionId: number }
  | { readonly kind: "completePromise"; readonly key: string; readonly outcome: Outcome; readonly completionId: number }
  | { readonly kind: "sleep"; readonly wakeUpAtMs: number; readonly completionId: number }
  | {
      readonly kind: "call";
      readonly callee: Callee;
      readonly invocationIdCompletionId: number;
      readonly resultCompletionId: number;
    }
  | { readonly kind: "oneWayCall"; readonly callee: Callee; readonly invocationIdCompletionId: number }
  | {
      readonly kind: "sendSignal";
      readonly to: InvocationId;
      readonly signal: Exclude<NotificationId, { kind: "completion" }>;
      readonly result: ResultValue;
    }
  | { readonly kind: "attach"; readonly to: InvocationId; readonly completionId: number }
  | { readonly kind: "getOutput"; readonly to: InvocationId; readonly completionId: number };

/** A run's closure finished. The RunCompletion is stored, then confirmed: in full, or by an ack alone (v7 with flag). */
export interface ProposeRun {
  readonly kind: "proposeRun";
  readonly id: InvocationId;
  readonly run: number;
  readonly completionId: number;
  /** Body of the RunCompletion notification. */
  readonly body: Uint8Array;
  readonly ackOnly: boolean;
}

/** The run waited long for a slot of its worker before the attempt that reports this began. */
export interface SlotWaited {
  readonly kind: "slotWaited";
  readonly id: InvocationId;
  readonly run: number;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The handler waits and has released its stream. The attempt has considered `knownNotifications` notifications of the journal. */
export interface Suspend {
  readonly kind: "suspend";
  readonly id: InvocationId;
  readonly run: number;
  readonly awaiting: Future;
  readonly receivedNotificationCount: number;
  /** The attempt found that the condition is already met by entries that it has: run again at once. */
  readonly satisfied: boolean;
}

/** The handler is done: its last Output is the outcome. */
export interface End {
  readonly kind: "end";
  readonly id: InvocationId;
  readonly run: number;
  /** Body of that Output, when this attempt sent it: it may be large and need not be read again. It is in the journal too. */
  readonly output?: Uint8Array | undefined;
}

/** An attempt failed. `retry` leaves the invocation to the invoker; `pause` and `kill` end its run. */
export interface AttemptFailed {
  readonly kind: "attemptFailed";
  readonly id: InvocationId;
  readonly run: number;
  readonly error: AttemptError;
  readonly then: "retry" | "pause" | "kill";
  /** Number of this failure within the run, from 1; chooses the slot of the event. */
  readonly failureCount: number;
  /**
   * The failure was reported before, and is now the reason of a pause that ended a back-off: the event carries the time of the failure,
   * not of the pause.
   */
  readonly isRepeated: boolean;
}

// ── timers, operators, other partitions ─────────────────────────────────────────────────────────

/** A timer is due. Fires at least once; a firing without stored timer was already handled. */
export interface TimerFired {
  readonly kind: "timerFired";
  readonly id: InvocationId;
  readonly timer: TimerKey;
}

/**
 * Identity of a timer. `sequence` is the completion id of a sleep. Timers of `expireState` have 0 and `stateExpiryId` of an object as `id`,
 * or 1 and `throttleRowId`. All others have 0.
 */
export interface TimerKey {
  readonly dueAtMs: number;
  readonly kind: "sleep" | "start" | "purge" | "purgeJournal" | "expireState";
  readonly id: InvocationId;
  readonly sequence: number;
}

/** The operation that a command belongs to, and the end of the time in which it can be undone, in milliseconds since 1970. */
export interface UndoMark {
  readonly operation: OperationId;
  readonly untilMs: number;
}

export interface Cancel {
  readonly kind: "cancel";
  readonly id: InvocationId;
  readonly undo?: UndoMark | undefined;
}
export interface Kill {
  readonly kind: "kill";
  readonly id: InvocationId;
  readonly undo?: UndoMark | undefined;
}
/**
 * Reverts what an operation did to an invocation. Sent by the admin API, and by an invocation whose end was undone to those that it
 * called; `sink` is then the caller, which gets the outcome also when nothing of the callee can be restored.
 */
export interface Undo {
  readonly kind: "undo";
  readonly id: InvocationId;
  readonly operation: OperationId;
  readonly sink: Sink | undefined;
}
/** Deletes records of undo whose time is over. `id` routes, as in `MutateState`. */
interface ExpireUndo {
  readonly kind: "expireUndo";
  readonly id: InvocationId;
}
export interface Pause {
  readonly kind: "pause";
  readonly id: InvocationId;
  readonly undo?: UndoMark | undefined;
}
/** `pin` moves the invocation to another deployment (the sender has checked that it exists and speaks the protocol version). */
export interface Resume {
  readonly kind: "resume";
  readonly id: InvocationId;
  readonly moveTo: DeploymentId | undefined;
  /** Of a resume that does not move: the pause can be restored. */
  readonly undo?: UndoMark | undefined;
}
/**
 * Starts a copy of a completed invocation under `newId`, keeping the journal up to and including entry `from`. A fork may also copy an
 * invocation that is in flight, and edits the results of copied steps.
 */
export interface RestartAsNew {
  readonly kind: "restartAsNew";
  readonly id: InvocationId;
  readonly newId: InvocationId;
  readonly from: number;
  /** Deployment of the copy; undefined lets its first attempt choose the latest. */
  readonly moveTo: DeploymentId | undefined;
  readonly keepDeployment: boolean;
  readonly fork?: ForkEdits | undefined;
}

/** Edits of a journal that is copied. Entries are never changed once stored, so their indexes identify them. */
export interface ForkEdits {
  /** Indexes of the steps that are edited, for display. */
  readonly editedSteps: readonly number[];
  /** Entries of the source that get another body of the same type. */
  readonly replaced: readonly { readonly index: number; readonly body: Uint8Array }[];
  /** Completions of copied commands that the source does not have. */
  readonly added: readonly { readonly type: number; readonly body: Uint8Array }[];
}
export interface Purge {
  readonly kind: "purge";
  readonly id: InvocationId;
  readonly undo?: UndoMark | undefined;
}
export interface PurgeJournal {
  readonly kind: "purgeJournal";
  readonly id: InvocationId;
}

/** Replaces the whole state of an object or workflow key. `id` routes: any id whose partition key is the key's hash. */
export interface MutateState {
  readonly kind: "mutateState";
  readonly id: InvocationId;
  readonly service: string;
  readonly key: string;
  readonly exclusive: boolean;
  readonly expectedVersion: string | undefined;
  readonly entries: readonly UserStateEntry[];
  readonly undo?: UndoMark | undefined;
}
/** Sets the time to live of the state of one object; undefined: that of its service. `id` routes, as in `MutateState`. */
export interface SetStateTtl {
  readonly kind: "setStateTtl";
  readonly id: InvocationId;
  readonly service: string;
  readonly key: string;
  readonly ttlMs: number | undefined;
}
export interface UserStateEntry {
  readonly key: string;
  readonly value: Uint8Array;
}

// ── flow control ─────────────────────────────────────────────────────────────────────────────────

/** The scheduler gives a waiting invocation its slot; `buckets` are the new fills of the buckets that its start draws from. */
export interface Admit {
  readonly kind: "admit";
  readonly id: InvocationId;
  readonly buckets: readonly BucketValue[];
}
/** The buckets are full again, or their rules were removed. `id` routes, as in `MutateState`. */
interface DeleteBuckets {
  readonly kind: "deleteBuckets";
  readonly id: InvocationId;
  readonly names: readonly string[];
}
/**
 * No new invocation starts from the queue until it is resumed; running ones continue. `id`: `routeOfQueue(queue)`. Sent by the admin API.
 */
export interface PauseQueue {
  readonly kind: "pauseQueue";
  readonly id: InvocationId;
  readonly queue: VqueueId;
}
export interface ResumeQueue {
  readonly kind: "resumeQueue";
  readonly id: InvocationId;
  readonly queue: VqueueId;
}

export type AttemptCommand = Pin | SlotWaited | AppendCommand | ProposeRun | Suspend | End | AttemptFailed;

export type PartitionCommand =
  | Invoke
  | Attach
  | QueryOutput
  | Notify
  | SignalInvocation
  | AttemptCommand
  | TimerFired
  | Cancel
  | Kill
  | Pause
  | Resume
  | RestartAsNew
  | Purge
  | PurgeJournal
  | Undo
  | ExpireUndo
  | MutateState
  | SetStateTtl
  | Admit
  | DeleteBuckets
  | PauseQueue
  | ResumeQueue;

export type { Target };
