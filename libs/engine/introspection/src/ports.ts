/**
 * Narrow interfaces to what introspection reads from other packages. They are structural: the partition store, the invoker and the
 * registry satisfy them as they are.
 */
import type { DeploymentId, ErrorCode, InvocationId } from "@perdure/base";
import type {
  FlowBucketRow,
  FlowEntryRow,
  FlowLimitRow,
  FlowLimits,
  FlowQueueRow,
  FlowRate,
  FlowRows,
} from "@perdure/flow-control";
import type { AttemptError, EventSubscription, JournalEntry, JournalEvent, ServiceType } from "@perdure/state-machine";
import type {
  AsyncCompletedChanges,
  InboxRow,
  KeyValue,
  LockRow,
  NodeRow,
  PartitionRow,
  PromiseRow,
  ScannedTable,
  StateRange,
  StateRow,
  TrafficCount,
} from "@perdure/storage";
import type { CompletedView } from "./completed/cache.js";

/** Encoding of rows: one JSON object `{"rows":[…]}`, or an Arrow IPC stream (introspection-sql.md §3). */
export type SqlFormat = "json" | "arrow";

/**
 * `rows`: the encoded result, chunk by chunk; a failure while it is read rejects the iteration. `refused`: `invalid` is an error of the
 * caller, `busy` means retry later, `failed` and `unavailable` are errors of the server; `message` is for the caller.
 */
export type SqlAnswer =
  | { readonly kind: "rows"; readonly contentType: string; readonly chunks: AsyncIterable<Uint8Array> }
  | {
      readonly kind: "refused";
      readonly reason: "invalid" | "failed" | "unavailable" | "busy";
      readonly message: string;
      /** Absent when the catalogue of errors has no code: messages of the engine, and most bounds. */
      readonly code?: ErrorCode;
      /** Set only with `busy`. */
      readonly retryAfterSeconds: number | undefined;
    };

/** Runs one read-only statement. Never rejects. An aborted signal ends the statement and the reading of its chunks. */
/** An answer without rows. */
export type SqlRefusal = SqlAnswer & { readonly kind: "refused" };

export type Sql = (query: string, format: SqlFormat, signal: AbortSignal) => Promise<SqlAnswer>;

/** The data that a statement reads. Committed rows are those of one moment; live rows are read at about that moment. */
export interface IntrospectionSource {
  readonly partitionCount: number;
  /** Whether several ranges of the store may be read concurrently, because no row moves between them while they are read. */
  readonly isOneMoment: boolean;
  readonly store: StoredRows;
  readonly live: LiveRows;
  /** Copies of the completed invocations, brought up to the moment of `store`. Absent: they are read from the store. */
  readonly completed?: CompletedView | undefined;
}

/** Location of committed data for the statement process, as plain data. Another kind of store is another variant. */
export interface SourceDescription {
  readonly store: StoreDescription;
  readonly partitionCount: number;
}
/**
 * `served`: the server has the store open and serves reads of it. `redis`: the partitions of an environment in Redis; `options` describe
 * the connection, as text, in the form that the module that opens the store expects.
 */
type StoreDescription = { readonly kind: "served" } | { readonly kind: "redis"; readonly options: string };

/** A store that the server has open for statements. */
export interface SnapshotSource extends AsyncDisposable {
  /** A read-only view of what is committed now. */
  snapshot(): KeyValue;
}

/** Gives each statement its own view. */
export interface SourcePort {
  open(): OpenSource;
}

/** Disposing of it releases its snapshot. */
interface OpenSource extends IntrospectionSource, AsyncDisposable {}

/**
 * State that only the process that runs invocations has. Statements run in another process, so arguments are JSON and rows plain data
 * (which `structuredClone` copies unchanged), and a method is called only when a statement's tables need it. A new method is also named
 * in `LIVE_METHODS` (`live.ts`), which makes it callable from the statement process.
 */
export interface LiveRows {
  /** Invocations in the invokers' memory, or only those with these ids. */
  held(ids: readonly InvocationId[] | undefined): RowSource<HeldInvocation>;
  deployments(): RowSource<DeploymentRow>;
  /** Latest revisions of the services. */
  services(): RowSource<ServiceRow>;
  rules(): RowSource<RuleRow>;
  eventSubscriptions(): RowSource<EventSubscriptionRow>;
  schedules(): RowSource<ScheduleRow>;
  operations(): RowSource<OperationRow>;
  conditions(): RowSource<ConditionRow>;
  /** Processes that may lead partitions. */
  nodes(): RowSource<NodeRow>;
  /** All partitions, whether or not they have a leader. */
  partitions(): RowSource<PartitionRow>;
  /** Counters of all workers. */
  traffic(): RowSource<TrafficRow>;
  /** Flow-control state of these partitions; of all when undefined. */
  queues(partitions: readonly number[] | undefined): RowSource<QueueRow>;
  queueEntries(partitions: readonly number[] | undefined): RowSource<FlowEntryRow>;
  limits(partitions: readonly number[] | undefined): RowSource<FlowLimitRow>;
  buckets(partitions: readonly number[] | undefined): RowSource<FlowBucketRow>;
  /** Keys of completed invocations that may have changed since a position; one null when the changes are not recorded that far back. */
  completedChanges(since: number): RowSource<string | null>;
}

export type RowSource<Row> = Iterable<Row> | AsyncIterable<Row>;

/** The read-only part of a partition store. */
export interface StoredRows {
  readJournal(partition: number, id: InvocationId, length: number): Promise<readonly JournalEntry[]>;
  /** Keys are binary strings. */
  stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
  events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]>;
  /** Stored invocations, many at a time. Invocations of services that are not named may be omitted. */
  invocationRows(
    partition: number,
    group: "unfinished" | "completed",
    services?: ReadonlySet<string>,
  ): AsyncIterable<readonly Uint8Array[]>;
  /**
   * One stored invocation; returned synchronously where the store can. Many are requested together, so that a store behind a network
   * receives one batch. `isJournalNext`: its journal is requested next, so a store may read the beginning in the same round trip.
   */
  invocationRow(
    partition: number,
    id: InvocationId,
    isJournalNext?: boolean,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Partitions that the caller scans next, one after the other: a store behind a stream may read those with few rows together. */
  expectScans?(table: Exclude<ScannedTable, "state">, partitions: readonly number[]): void;
  /** The same for the state of each service, or for all state. */
  expectStateScans?(services: readonly (string | undefined)[], partitions: readonly number[], where?: StateRange): void;
  /** All keys, or those of one service: in any scope and outside of scopes, or in scopes only. */
  scanState(partition: number, service: string | undefined, where?: StateRange): AsyncIterable<StateRow>;
  scanPromises(partition: number): AsyncIterable<PromiseRow>;
  scanLocks(partition: number): AsyncIterable<LockRow>;
  scanInboxes(partition: number): AsyncIterable<InboxRow>;
}

/** In-memory state of the invokers of all partitions. */
export interface InvokerRows {
  status(id: InvocationId): HeldInvocation | undefined;
  statuses(): Iterable<HeldInvocation>;
}

/** The schedulers of this process. */
export interface FlowPort {
  /** Returns the rows of one partition; reads stored data. */
  flowRows(partition: number): FlowRows | Promise<FlowRows>;
  /** Limits and buckets only. */
  flowLimits(partition: number): FlowLimits | Promise<FlowLimits>;
}

/** A queue as it was at `nowMs`. */
export interface QueueRow {
  readonly queue: FlowQueueRow;
  readonly nowMs: number;
}

/** An invocation as its invoker sees it. */
export interface HeldInvocation {
  readonly id: InvocationId;
  readonly inFlight: boolean;
  /** 1 while the first attempt runs; 0 while the run waits for a slot. */
  readonly retryCount: number;
  readonly lastStartAtMs: number | undefined;
  readonly nextRetryAtMs: number | undefined;
  readonly lastAttemptDeploymentId: string | undefined;
  readonly lastAttemptServer: string | undefined;
  readonly lastFailure: AttemptError | undefined;
  readonly lastAwaitingJson: string | undefined;
  /** Set while the run waits for a slot of its worker. */
  readonly slotWait?: { readonly service: string; readonly isContinuation: boolean; readonly sinceMs: number } | undefined;
  /** Extent of the endpoint's answer in the running attempt. */
  readonly endpointAnswer?: "nothing" | "headers" | "messages" | undefined;
}

export interface RegistryRows {
  deployments(): readonly RegisteredDeployment[];
  /** Latest revisions. */
  services(): readonly RegisteredService[];
  /** Options of a row that `services` gave, defaults filled in. */
  effective(row: RegisteredService): { readonly public: boolean };
  rules(): readonly RuleRow[];
  eventSubscriptions(): readonly RegisteredEventSubscription[];
}

export interface RegisteredDeployment {
  readonly id: DeploymentId;
  readonly address: { readonly kind: "http"; readonly uri: string } | { readonly kind: "lambda"; readonly arn: string };
  readonly createdAtMs: number;
  readonly minProtocolVersion: number;
  readonly maxProtocolVersion: number;
  readonly services: readonly { readonly definition: { readonly name: string } }[];
}
export interface RegisteredService {
  readonly deployment: { readonly id: DeploymentId };
  readonly revision: {
    readonly revision: number;
    readonly definition: { readonly name: string; readonly kind: ServiceType; readonly handlers: readonly HandlerRow[] };
  };
}

export interface DeploymentRow {
  readonly id: DeploymentId;
  readonly kind: "http" | "lambda";
  /** URI or ARN. */
  readonly endpoint: string;
  readonly createdAtMs: number;
  readonly minProtocolVersion: number;
  readonly maxProtocolVersion: number;
  readonly services: readonly string[];
}
export interface ServiceRow {
  readonly name: string;
  readonly revision: number;
  readonly kind: ServiceType;
  readonly isPublic: boolean;
  readonly deploymentId: DeploymentId;
  readonly handlers: readonly HandlerRow[];
}
interface HandlerRow {
  readonly name: string;
  readonly kind: "exclusive" | "shared" | "workflow";
}
export interface RuleRow {
  readonly pattern: string;
  readonly concurrency: number | undefined;
  readonly rate: FlowRate | undefined;
  readonly weight: number;
  readonly priority: number | undefined;
  readonly description: string | undefined;
  readonly disabled: boolean;
  readonly version: number;
  readonly lastModifiedMs: number;
}

export interface RegisteredEventSubscription extends EventSubscription {
  readonly webhook: { readonly url: string } | undefined;
  readonly description: string | undefined;
  readonly createdAtMs: number;
}
/** Without the secrets of the webhook; its address is redacted. */
export interface EventSubscriptionRow extends EventSubscription {
  readonly url: string | undefined;
  readonly description: string | undefined;
  readonly createdAtMs: number;
}

/** The store of schedules. */
export interface SchedulesPort {
  rows(): Iterable<ScheduleRow>;
}
/** A schedule and its progress. Times in milliseconds since 1970. */
export interface ScheduleRow {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly status: "active" | "paused" | "ended";
  readonly cron: string;
  readonly zone: string;
  readonly jitterMs: number;
  readonly startAtMs: number | undefined;
  readonly endAtMs: number | undefined;
  readonly firingsMax: number | undefined;
  readonly service: string;
  readonly handler: string;
  /** The template, before its variables are replaced. */
  readonly key: string | undefined;
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
  readonly priority: number | undefined;
  readonly contentType: string | undefined;
  readonly payloadLength: number;
  readonly overlap: string;
  readonly queuedMax: number | undefined;
  readonly catchUp: string;
  readonly caughtUpMax: number | undefined;
  readonly catchUpWindowMs: number | undefined;
  readonly nextAtMs: number | undefined;
  readonly lastScheduledAtMs: number | undefined;
  readonly lastFiredAtMs: number | undefined;
  readonly lastInvocationId: string | undefined;
  readonly activeInvocationId: string | undefined;
  readonly queuedCount: number;
  readonly firedCount: number;
  readonly manualCount: number;
  readonly skippedCount: number;
  readonly failedCount: number;
  readonly missedCount: number;
  /** An array of objects as JSON, newest first. */
  readonly recentJson: string;
  readonly version: number;
  readonly createdAtMs: number;
  readonly modifiedAtMs: number;
}

/** The store of conditions of the environment. */
export interface ConditionsPort {
  rows(): RowSource<ConditionRow>;
}
/** A condition that holds now and caused an event. */
export interface ConditionRow {
  /** Type of the event: `subscription.stuck` … */
  readonly type: string;
  readonly subject: string;
  readonly services: readonly string[];
  readonly handler: string | undefined;
  readonly scope: string | undefined;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
}

/** The store of operations that can be undone. */
export interface OperationsPort {
  rows(): RowSource<OperationRow>;
}
/** A change that can be undone for a while, and its undo. Times in milliseconds since 1970. */
export interface OperationRow {
  readonly id: string;
  /** What was done: `kill`, `cancel` … */
  readonly operation: string;
  /** What was changed, when the request named one thing. */
  readonly target: string | undefined;
  /** The condition of the batch that chose what was changed. */
  readonly filter: string | undefined;
  readonly batchId: string | undefined;
  readonly startedBy: string | undefined;
  readonly reason: string | undefined;
  readonly state: "undoable" | "undoing" | "undone" | "expired";
  readonly startedAtMs: number;
  readonly undoUntilMs: number;
  readonly matchedCount: number;
  /** Undefined until it is undone. */
  readonly undo: OperationUndoRow | undefined;
}
interface OperationUndoRow {
  readonly startedAtMs: number;
  readonly batchId: string | undefined;
  readonly undoneCount: number;
  readonly failedCount: number;
  readonly cannotBeUndone: readonly string[];
}

/**
 * The record of changed rows of completed invocations: `CompletedChanges` of the store, or those of several threads that write it.
 *
 * `position`: undefined while there is none; a snapshot that is taken later has all changes before this position. `since`: undefined when
 * the record does not reach so far back.
 */
export type CompletedChangesPort = AsyncCompletedChanges;

/** Workers and leaders of partitions: of a cluster, or of the single process. */
export interface ClusterPort {
  nodes(): RowSource<NodeRow>;
  partitions(): RowSource<PartitionRow>;
  traffic(): RowSource<TrafficRow>;
}

/** A count of one worker; without a count it says that the worker has reported, and since when its counts are complete. */
export interface TrafficRow {
  readonly node: string;
  readonly sinceMs: number | undefined;
  readonly count: TrafficCount | undefined;
}
