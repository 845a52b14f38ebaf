/**
 * Changes to the store, in the order they must be applied. A batch of them is durable as a whole or not at all.
 * State and promise keys are binary strings (one char per byte) so that any bytes are legal.
 */
import type { InvocationId, VqueueId } from "@perdure/base";
import type { BucketValue } from "@perdure/flow-control";
import type { PartitionCommand, TimerKey, UndoMark, UserStateEntry } from "./command.js";
import type { JournalEntry, JournalEvent } from "./entry.js";
import type { GenerationMark, Invocation, Outcome } from "./invocation.js";
import type { ChangedEntry } from "./undo/rows.js";

/**
 * The holder of an exclusive key (undefined while its queue is paused and entries wait), and the range of its queue: entries `head`
 * (inclusive) to `tail` (exclusive), with holes.
 */
export interface ObjectLock {
  readonly holder: InvocationId | undefined;
  readonly head: number;
  readonly tail: number;
  /** The holder has changed state that expires; see `state/expiry.ts`. */
  readonly isStateChanged?: boolean | undefined;
  /** The state came due while the holder had the lock. */
  readonly isStateDue?: boolean | undefined;
}

/**
 * A paused queue. Its id does not contain the object's key, so the first entry that the pause keeps from an object's free lock notes
 * the key here.
 */
export interface QueuePause {
  readonly pausedAtMs: number;
  readonly lock: { readonly service: string; readonly key: string } | undefined;
}

/** An entry that waits for an object's lock. */
export type InboxEntry = { readonly kind: "invocation"; readonly id: InvocationId } | StateMutation;

/** A state edit that waits, or the undo of one. */
export interface StateMutation {
  readonly kind: "stateMutation";
  readonly expectedVersion: string | undefined;
  readonly entries: readonly UserStateEntry[];
  /** The command of the edit, when it can be undone. */
  readonly undo?: { readonly id: InvocationId; readonly mark: UndoMark } | undefined;
  /** It undoes an edit: these entries get their former values instead. */
  readonly restored?: readonly ChangedEntry[] | undefined;
}

/** A workflow's durable promise. */
export type WorkflowPromise =
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "pending"; readonly listeners: readonly PromiseListener[] };
export interface PromiseListener {
  readonly id: InvocationId;
  readonly generation: GenerationMark;
  readonly completionId: number;
}

/** A command to another partition, kept until it is acknowledged. */
export interface OutboxMessage {
  readonly seq: number;
  readonly command: PartitionCommand;
}

export type Mutation =
  | { readonly kind: "putInvocation"; readonly invocation: Invocation }
  | { readonly kind: "deleteInvocation"; readonly id: InvocationId }
  | { readonly kind: "appendEntry"; readonly id: InvocationId; readonly index: number; readonly entry: JournalEntry }
  | { readonly kind: "deleteJournal"; readonly id: InvocationId; readonly length: number }
  | { readonly kind: "putEvent"; readonly id: InvocationId; readonly slot: number; readonly event: JournalEvent }
  | { readonly kind: "deleteEvents"; readonly id: InvocationId }
  | {
      readonly kind: "putState";
      readonly service: string;
      readonly key: string;
      readonly stateKey: string;
      readonly value: Uint8Array;
    }
  | { readonly kind: "deleteState"; readonly service: string; readonly key: string; readonly stateKey: string }
  | { readonly kind: "putLock"; readonly service: string; readonly key: string; readonly lock: ObjectLock }
  | { readonly kind: "deleteLock"; readonly service: string; readonly key: string }
  | {
      readonly kind: "putInbox";
      readonly service: string;
      readonly key: string;
      readonly seq: number;
      readonly entry: InboxEntry;
    }
  | { readonly kind: "deleteInbox"; readonly service: string; readonly key: string; readonly seq: number }
  | {
      readonly kind: "putPromise";
      readonly service: string;
      readonly key: string;
      readonly name: string;
      readonly promise: WorkflowPromise;
    }
  | { readonly kind: "deletePromise"; readonly service: string; readonly key: string; readonly name: string }
  | { readonly kind: "putTimer"; readonly timer: TimerKey }
  | { readonly kind: "deleteTimer"; readonly timer: TimerKey }
  | { readonly kind: "putOutbox"; readonly message: OutboxMessage }
  | { readonly kind: "deleteOutbox"; readonly seq: number }
  | { readonly kind: "putBucket"; readonly bucket: BucketValue }
  | { readonly kind: "deleteBucket"; readonly name: string }
  | { readonly kind: "putPause"; readonly queue: VqueueId; readonly pause: QueuePause }
  | { readonly kind: "deletePause"; readonly queue: VqueueId }
  /** Highest sequence received from a producer (a partition, or a Kafka topic-partition). */
  | { readonly kind: "putDedup"; readonly producer: string; readonly seq: number };

/** Events kept per invocation; a ring, so a failing invocation cannot fill the disk. */
export const EVENT_SLOTS = 16;
