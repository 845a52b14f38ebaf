/**
 * Read access of a transition: the partition as it is after every command applied so far, durable or not. Reads are synchronous. Where
 * the store cannot respond at once, a read throws `NeedsLoad`; the processor then loads the rows and applies the command again from the
 * start. Applying is pure, so applying twice has the effect of once.
 */
import type { InvocationId, VqueueId } from "@perdure/base";
import type { TimerKey } from "./command.js";
import type { JournalEntry } from "./entry.js";
import type { EventSubscription } from "./event/subscription.js";
import type { Invocation } from "./invocation.js";
import type { InboxEntry, ObjectLock, QueuePause, WorkflowPromise } from "./mutation.js";
import type { StateTtls } from "./state/expiry.js";
import type { Target } from "./target.js";
import type { UndoRows } from "./undo/rows.js";

export interface PartitionView {
  /** Records of changes that can be undone; undefined when nothing can. */
  readonly undo: UndoRows | undefined;
  readonly stateTtls: StateTtls;
  invocation(id: InvocationId): Invocation | undefined;
  entry(id: InvocationId, index: number): JournalEntry | undefined;
  /** Returns the whole journal, which has `length` entries. */
  journalOf(id: InvocationId, length: number): readonly (JournalEntry | undefined)[];
  lock(service: string, key: string): ObjectLock | undefined;
  inbox(service: string, key: string, seq: number): InboxEntry | undefined;
  state(service: string, key: string, stateKey: string): Uint8Array | undefined;
  /** All state of a key in storage order (service protocol §3.4). */
  stateOf(service: string, key: string): ReadonlyMap<string, Uint8Array>;
  promise(service: string, key: string, name: string): WorkflowPromise | undefined;
  /** Names of all promises of a workflow key. */
  promisesOf(service: string, key: string): readonly string[];
  /** Whether a scoped invocation waits for a slot: a rule limits it, or its queue is paused. Never called for unscoped targets. */
  isGated(target: Target & { readonly scope: string }, limitKey: string | undefined): boolean;
  queuePause(queue: VqueueId): QueuePause | undefined;
  /** Number of paused queues of the partition; it is mostly 0, and then ids of queues need not be computed. */
  readonly pausedQueueCount: number;
  hasTimer(timer: TimerKey): boolean;
  /** Throttle keys that the partition stores at most. */
  readonly throttleKeysMax: number;
  /** Event subscriptions of the environment; undefined when there are none, which is all that an environment without events pays. */
  readonly eventSubscriptions?: readonly EventSubscription[] | undefined;
  /** Highest sequence received from a producer, -1 if none. */
  dedup(producer: string): number;
}

/** Rows that a read needs and the store cannot return synchronously. */
export type LoadRequest =
  | { readonly kind: "stateOf"; readonly service: string; readonly key: string }
  | { readonly kind: "promisesOf"; readonly service: string; readonly key: string }
  | { readonly kind: "journalOf"; readonly id: InvocationId; readonly length: number };

/**
 * Journals from this length on are loaded when a command needs the whole of them: reading one row after the other would take some 5 ms.
 */
export const LONG_JOURNAL_ENTRIES = 1_024;

export class NeedsLoad extends Error {
  readonly request: LoadRequest;
  constructor(request: LoadRequest) {
    super(`needs ${request.kind} of ${request.kind === "journalOf" ? request.id : request.service}`);
    this.request = request;
  }
}
