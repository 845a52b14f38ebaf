/**
 * Effects: what happens outside of the core when the batch of a command is durable. A new leader derives effects again from what is
 * stored, so losing one in a crash loses nothing.
 */
import type { InvocationId, VqueueId } from "@perdure/base";
import type { TimerKey } from "./command.js";
import type { JournalEntry } from "./entry.js";
import type { Inboxed, Invocation, Invoked, Outcome, Ready } from "./invocation.js";

/** Hands the invocation to the invoker. `firstEntries` saves reading back a journal that was written in this turn. */
export interface StartRun {
  readonly kind: "startRun";
  readonly invocation: Invoked;
  /** The whole journal, index 0 onwards, where it was just written; undefined: read it from the store. */
  readonly firstEntries: readonly JournalEntry[] | undefined;
  /** A new leader derived it from what is stored, and the former one did not hand the run over: its attempt ended with its process. */
  readonly isRecovered?: boolean;
}

/** An entry of a running invocation is durable. */
export interface EntryStored {
  readonly kind: "entryStored";
  readonly id: InvocationId;
  readonly run: number;
  readonly index: number;
  readonly entry: JournalEntry;
  /** Message of the attempt to the SDK: the entry itself, an ack by command index, an ack by completion id, or nothing. */
  readonly delivery:
    | {
        readonly kind: "push" /** Command index to acknowledge right after, when its command requested it. */;
        readonly thenAck: number | undefined;
      }
    | { readonly kind: "ackCommand"; readonly commandIndex: number }
    | { readonly kind: "ackRun"; readonly completionId: number }
    | { readonly kind: "nothing" };
}

/** The run is over: abort its stream if one is open and release the invocation. */
export interface StopRun {
  readonly kind: "stopRun";
  readonly id: InvocationId;
  readonly run: number;
  readonly reason: "ended" | "suspended" | "paused" | "killed";
}

/** Stops the run at the next opportunity: half-close, wait for the SDK, then report `attemptFailed`/`suspend` as usual. */
export interface RequestPause {
  readonly kind: "requestPause";
  readonly id: InvocationId;
  readonly run: number;
}

/** A backing-off invocation should try again now. */
export interface RetryNow {
  readonly kind: "retryNow";
  readonly id: InvocationId;
  readonly run: number;
}

interface ArmTimer {
  readonly kind: "armTimer";
  readonly timer: TimerKey;
}

/** An invocation of a scope waits for a slot. */
interface RequestSlot {
  readonly kind: "requestSlot";
  readonly invocation: Inboxed | Ready;
}

/** An invocation of a scope runs now: admitted, or because no rule applies to it. */
interface TakeSlot {
  readonly kind: "takeSlot";
  readonly invocation: Invoked;
}

/** An admission was not used: its invocation left meanwhile, or its queue was paused. */
interface SlotUnused {
  readonly kind: "slotUnused";
  readonly id: InvocationId;
}

/** An invocation of a scope does not run any more. */
interface ReleaseSlot {
  readonly kind: "releaseSlot";
  readonly id: InvocationId;
}

/** An invocation that waited for a slot no longer needs one. */
interface Withdraw {
  readonly kind: "withdraw";
  readonly id: InvocationId;
}

/** A queue was paused or resumed. `id` is for routing. */
interface QueueSwitched {
  readonly kind: "queueSwitched";
  readonly id: InvocationId;
  readonly queue: VqueueId;
  readonly paused: boolean;
}

/** The state of an object was deleted because its time to live was over; counted. A count that a crash loses is not derived again. */
interface StateExpired {
  readonly kind: "stateExpired";
}

/** An invocation has its outcome: callers that wait in memory (ingress) get their response. */
interface Announce {
  readonly kind: "announce";
  readonly id: InvocationId;
  readonly outcome: Outcome;
}

/** Reply to the sender of the present command (see `CommandAnswer`). */
interface Reply {
  readonly kind: "reply";
  readonly answer: CommandAnswer;
}

/**
 * `notKept`: the operation changed nothing here, or the record is gone. `conflict`: the id was used again, or the invocation has changed
 * since.
 */
export interface UndoAnswer {
  readonly kind: "undo";
  readonly result: "undone" | "alreadyUndone" | "notKept" | "expired" | "conflict";
  /** Invocations that were notified of the end, and may have continued with it. */
  readonly notified: readonly InvocationId[];
  /** Whether a client may have received the end as the result. */
  readonly isClientNotified: boolean;
  /** The undo of a state edit is stored, and applied behind the handlers of the key unless they write the same entries. */
  readonly isWaiting?: boolean | undefined;
}

/** As many invocations as the throttle allows began in the present period. Nothing was stored. */
export interface Throttled {
  readonly kind: "throttled";
  /** The newest invocation that the period admitted. It may have ended, and its record may be deleted. */
  readonly newestId: InvocationId;
  readonly admittedCount: number;
  /** End of the period by the clock of the partition, in milliseconds since 1970. */
  readonly retryAtMs: number;
}

/** The partition has as many throttle keys as it may have, and that of the request is not one of them. Nothing was stored. */
export interface ThrottleKeysFull {
  readonly kind: "throttleKeysFull";
}

/** Replies to submitters; the admin API and ingress convert them to statuses. */
export type CommandAnswer =
  | { readonly kind: "accepted" }
  | { readonly kind: "previouslyAccepted"; readonly invocation: Invocation }
  | { readonly kind: "done" }
  | { readonly kind: "pending" }
  | { readonly kind: "alreadyPaused" }
  | { readonly kind: "notFound" }
  | { readonly kind: "alreadyCompleted" }
  | { readonly kind: "notRunning" }
  | { readonly kind: "notStarted" }
  | { readonly kind: "stillRunning" }
  | { readonly kind: "deploymentNotPinned" }
  | { readonly kind: "notCompleted" }
  | { readonly kind: "journalGone" }
  /** A state edit named a version that is not the present one; nothing was changed. */
  | { readonly kind: "versionMismatch" }
  /** The partition has as many paused queues as it can store. */
  | { readonly kind: "tooManyPauses" }
  | Throttled
  | ThrottleKeysFull
  | UndoAnswer
  | { readonly kind: "notRestartable"; readonly reason: "workflow" | "incompletePrefix" };

export type Effect =
  | StartRun
  | EntryStored
  | StopRun
  | RequestPause
  | RetryNow
  | ArmTimer
  | RequestSlot
  | TakeSlot
  | SlotUnused
  | ReleaseSlot
  | Withdraw
  | QueueSwitched
  | StateExpired
  | Announce
  | Reply;
