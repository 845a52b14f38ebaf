/**
 * Port of the store of partitions. A commit is atomic, durable when it resolves, and fenced: the batch of a deposed leader leaves no
 * trace. Reads return committed rows only; the processor keeps what its leader has applied since.
 */
import type { InvocationId, VqueueId } from "@perdure/base";
import type { BucketValue } from "@perdure/flow-control";
import type {
  InboxEntry,
  Invocation,
  JournalEntry,
  JournalEvent,
  Mutation,
  ObjectLock,
  OutboxMessage,
  QueuePause,
  TimerKey,
  WorkflowPromise,
} from "@perdure/state-machine";
import type { Staging } from "./kv/key-value.js";
import type { Population } from "./population.js";

/** The part of one partition in a commit. `mutations` are applied in order. */
export interface PartitionBatch {
  readonly partition: number;
  readonly epoch: number;
  readonly mutations: readonly Mutation[];
}

export type CommitOutcome =
  | { readonly kind: "committed" }
  | { readonly kind: "fenced"; readonly partition: number; readonly by: number };

/** Point reads that return at once. Returned bytes may be shared: never change them. */
export interface SyncReads {
  invocation(partition: number, id: InvocationId): Invocation | undefined;
  entry(partition: number, id: InvocationId, index: number): JournalEntry | undefined;
  lock(partition: number, service: string, key: string): ObjectLock | undefined;
  inbox(partition: number, service: string, key: string, seq: number): InboxEntry | undefined;
  state(partition: number, service: string, key: string, stateKey: string): Uint8Array | undefined;
  promise(partition: number, service: string, key: string, name: string): WorkflowPromise | undefined;
  hasTimer(partition: number, timer: TimerKey): boolean;
  dedup(partition: number, producer: string): number | undefined;
}

/**
 * `precise` timers (sleeps, delayed starts) and `state` timers (state that expires) fire on time, `retention` timers whenever cleaning is
 * due. No invocation waits for a `state` timer, so it wakes no environment.
 */
export type TimerGroup = "precise" | "retention" | "state";

export function timerGroupOf({ kind }: Pick<TimerKey, "kind">): TimerGroup {
  if (kind === "expireState") return "state";
  return kind === "sleep" || kind === "start" ? "precise" : "retention";
}

export interface StoreCapabilities {
  /** One commit may hold batches of several partitions, atomically. */
  readonly sharedBatch: boolean;
}

export interface PartitionStore extends AsyncDisposable {
  readonly capabilities: StoreCapabilities;
  readonly reads: SyncReads;
  /** Writes large bytes of mutations before their commit; undefined: they can be written only with it. */
  readonly staging?: Staging | undefined;
  /** Becomes the leader: returns an epoch higher than any before, durable. Commits of lower epochs are fenced from now on. */
  claim(partition: number): Promise<number>;
  /**
   * Rejects with PerdureError STO0001 when the medium fails; it is then unknown whether the batch is durable, and the store is
   * unusable.
   */
  commit(batches: readonly PartitionBatch[]): Promise<CommitOutcome>;

  /**
   * Returns the first `length` entries, or all that exist: a reader that does not lead may find that the journal was deleted meanwhile.
   * Rejects with `JournalTooLarge` when their bodies have more than `bytesMax` bytes, without reading much more than that.
   */
  readJournal(partition: number, id: InvocationId, length: number, bytesMax?: number): Promise<JournalEntry[]>;
  /** Returns all state of a key in storage order (service protocol §3.4); keys are binary strings. */
  stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
  promisesOf(partition: number, service: string, key: string): Promise<readonly string[]>;
  /** Returns the earliest timers of a group that are due at or after `fromMs`, ascending, at most `limit`. */
  timers(partition: number, group: TimerGroup, fromMs: number, limit: number): Promise<readonly TimerKey[]>;
  outbox(partition: number, afterSeq: number, limit: number): Promise<readonly OutboxMessage[]>;

  /**
   * Yields every unfinished invocation that a new leader resumes: running ones, and those that wait for a slot. When the iteration
   * ends, the counts of the partition have been added to `counted`; they are valid only if no commit happens meanwhile.
   */
  recoverable(partition: number, counted?: Population): AsyncIterable<Invocation>;
  /** Returns the buckets and paused queues of flow control, which are few, and where state expires. */
  flow(partition: number): Promise<StoredFlow>;

  /** Yields every unfinished invocation with this status, or all unfinished ones. */
  unfinished(partition: number, status: Invocation["status"] | undefined): AsyncIterable<Invocation>;
  completed(partition: number): AsyncIterable<Invocation>;
  events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]>;
  /** Yields all state, or that of one service: in every scope and outside of scopes, or in scopes only. */
  scanState(partition: number, service: string | undefined, where?: StateRange): AsyncIterable<StateRow>;
  scanPromises(partition: number): AsyncIterable<PromiseRow>;
  scanLocks(partition: number): AsyncIterable<LockRow>;
  scanInboxes(partition: number): AsyncIterable<InboxRow>;
}

export interface StoredFlow {
  readonly buckets: readonly BucketValue[];
  readonly pauses: readonly PauseRow[];
  /** Undefined where no state expires. */
  readonly stateTtls?: StoredStateTtls | undefined;
}
export interface StoredStateTtls {
  /** Services of whose objects some have a time to live of their own. */
  readonly ownServices: readonly string[];
  /** Due time of the first `state` timer. */
  readonly firstDueAtMs: number | undefined;
}
export interface PauseRow {
  readonly queue: VqueueId;
  readonly pause: QueuePause;
}
/** `service` is the keyspace here and below: a scoped keyspace contains its scope. */
export interface StateRow {
  readonly service: string;
  readonly key: string;
  /** A binary string. */
  readonly stateKey: string;
  readonly value: Uint8Array;
}
export interface PromiseRow {
  readonly service: string;
  readonly key: string;
  readonly name: string;
  readonly promise: WorkflowPromise;
}
export interface LockRow {
  readonly service: string;
  readonly key: string;
  readonly lock: ObjectLock;
}
export interface InboxRow {
  readonly service: string;
  readonly key: string;
  readonly seq: number;
  readonly entry: InboxEntry;
}

export type StateRange = "everywhere" | "inScopes";
