/**
 * Builds the introspection rows of the virtual queues of one partition from the stored entries and the state of the scheduler. Reads
 * the unfinished invocations once, so its cost grows with them; no state is kept between two requests.
 */
import { hashString, type InvocationId, partitionKeyOf, partitionKeyOfVqueue, type VqueueId } from "@perdure/base";
import {
  bucketRows,
  type FlowBlock,
  type FlowEntryRow,
  type FlowLimits,
  type FlowQueueRow,
  type FlowRows,
  type FlowScheduler,
  type FlowStage,
  limitRows,
  liveQueues,
} from "@perdure/flow-control";
import {
  type InboxEntry,
  type Invocation,
  isExclusive,
  isSlotted,
  keyspaceOf,
  type ObjectLock,
  type QueuePause,
  queueOfLock,
  queueOfScope,
} from "@perdure/state-machine";
import type { AnyPartitionStore } from "@perdure/storage";

const NO_ROWS: FlowRows = { queues: [], entries: [], limits: [], buckets: [] };

export interface FlowSource {
  readonly store: AnyPartitionStore;
  readonly partition: number;
  readonly scheduler: FlowScheduler | undefined;
  readonly pauses: ReadonlyMap<VqueueId, QueuePause>;
  readonly nowMs: number;
}

/** The rows of about now: the reads happen at different moments. */
export async function flowRowsOf(source: FlowSource): Promise<FlowRows> {
  const { store, partition, scheduler, nowMs } = source;
  if (scheduler === undefined) return NO_ROWS;
  const queues = new Map<VqueueId, QueueUnderway>();
  await Promise.all([
    forEach(store.unfinished(partition, undefined), (invocation) => add(queues, source, invocation)),
    forEach(store.scanLocks(partition), ({ service, key, lock }) => {
      queueOf(queues, source, service, key).lock = lock;
    }),
    forEach(store.scanInboxes(partition), ({ service, key, seq, entry }) => {
      if (entry.kind === "stateMutation") addStateEdit(queueOf(queues, source, service, key), seq, entry, nowMs);
    }),
  ]);
  for (const [id, pause] of source.pauses) addIfIdle(queues, id, pause);
  const heads = new Map(liveQueues(scheduler).map((live) => [live.id, live.head]));
  return {
    queues: [...queues.values()].map((queue) => queueRow(queue, heads.get(queue.id))),
    entries: [...queues.values()].flatMap(({ entries }) => entries),
    ...flowLimitsOf(scheduler, nowMs),
  };
}

async function forEach<Row>(rows: AsyncIterable<Row>, handle: (row: Row) => void): Promise<void> {
  for await (const row of rows) handle(row);
}

/** Returns limits and buckets without reading the store. */
export function flowLimitsOf(scheduler: FlowScheduler | undefined, nowMs: number): FlowLimits {
  return scheduler === undefined
    ? NO_ROWS
    : { limits: limitRows(scheduler, hashString), buckets: bucketRows(scheduler, nowMs, hashString) };
}

interface QueueUnderway {
  readonly id: VqueueId;
  readonly service: string | undefined;
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
  readonly lockName: string | undefined;
  readonly pause: QueuePause | undefined;
  readonly entries: FlowEntryRow[];
  lock: ObjectLock | undefined;
}

type LiveQueueHead = ReturnType<typeof liveQueues>[number]["head"];

function add(queues: Map<VqueueId, QueueUnderway>, source: FlowSource, invocation: Invocation): void {
  const { target, limitKey } = invocation.facts;
  if (isExclusive(target)) {
    const queue = queueOf(queues, source, keyspaceOf(target), target.key);
    queue.entries.push(entryRow(queue.id, invocation, holdsLock(invocation)));
  } else if (isSlotted(target)) {
    const id = queueOfScope(target, limitKey);
    let queue = queues.get(id);
    if (queue === undefined) {
      const { service, scope } = target;
      queue = {
        id,
        service,
        scope,
        limitKey,
        lockName: undefined,
        pause: source.pauses.get(id),
        entries: [],
        lock: undefined,
      };
      queues.set(id, queue);
    }
    queue.entries.push(entryRow(id, invocation, false));
  }
}

function queueOf(queues: Map<VqueueId, QueueUnderway>, { pauses }: FlowSource, service: string, key: string): QueueUnderway {
  const id = queueOfLock(service, key);
  let queue = queues.get(id);
  if (queue === undefined) {
    const lockName = `${service}/${key}`;
    queue = {
      id,
      service,
      scope: undefined,
      limitKey: undefined,
      lockName,
      pause: pauses.get(id),
      entries: [],
      lock: undefined,
    };
    queues.set(id, queue);
  }
  return queue;
}

/** A paused queue without entries is listed too, so that an operator can find and resume it. */
function addIfIdle(queues: Map<VqueueId, QueueUnderway>, id: VqueueId, pause: QueuePause): void {
  if (queues.has(id)) return;
  const { lock } = pause;
  queues.set(id, {
    id,
    service: lock?.service,
    scope: undefined,
    limitKey: undefined,
    lockName: lock === undefined ? undefined : `${lock.service}/${lock.key}`,
    pause,
    entries: [],
    lock: undefined,
  });
}

function holdsLock({ status }: Invocation): boolean {
  return status !== "scheduled" && status !== "inboxed";
}

function stageOf({ status }: Invocation): FlowStage {
  switch (status) {
    case "invoked":
      return "running";
    case "suspended":
    case "paused":
      return status;
    default:
      return "inbox";
  }
}

function entryRow(queueId: VqueueId, invocation: Invocation, hasLock: boolean): FlowEntryRow {
  const { facts, milestones, status } = invocation;
  return {
    partitionKey: partitionKeyOf(facts.id),
    queueId,
    entryId: facts.id,
    entryKind: "invocation",
    stage: stageOf(invocation),
    status: status === "scheduled" ? "scheduled" : invocation.run === 0 ? "new" : "started",
    hasLock,
    runAtMs: facts.executionTimeMs,
    sequence: status === "inboxed" && invocation.waitsFor === "lock" ? invocation.inboxSeq : 0,
    priority: facts.priority,
    createdAtMs: facts.createdAtMs,
    transitionedAtMs: invocation.modifiedAtMs,
    firstStartAtMs: milestones.runningAtMs,
    runCount: invocation.run,
    deploymentId: invocation.pinned?.deploymentId,
  };
}

/** A state edit has no stored time; `nowMs` is used instead. */
function addStateEdit(queue: QueueUnderway, seq: number, _entry: InboxEntry, nowMs: number): void {
  queue.entries.push({
    partitionKey: partitionKeyOfVqueue(queue.id),
    queueId: queue.id,
    entryId: `${queue.lockName}#${seq}`,
    entryKind: "state-mutation",
    stage: "inbox",
    status: "new",
    hasLock: false,
    runAtMs: undefined,
    sequence: seq,
    priority: 3,
    createdAtMs: nowMs,
    transitionedAtMs: nowMs,
    firstStartAtMs: undefined,
    runCount: 0,
    deploymentId: undefined,
  });
}

function queueRow(queue: QueueUnderway, head: LiveQueueHead): FlowQueueRow {
  const count = { inbox: 0, running: 0, suspended: 0, paused: 0 };
  let createdAtMs = Number.POSITIVE_INFINITY;
  let lastEnqueuedAtMs: number | undefined;
  let lastStartAtMs: number | undefined;
  for (const entry of queue.entries) {
    count[entry.stage]++;
    createdAtMs = Math.min(createdAtMs, entry.createdAtMs);
    lastEnqueuedAtMs = Math.max(lastEnqueuedAtMs ?? 0, entry.createdAtMs);
    if (entry.firstStartAtMs !== undefined) lastStartAtMs = Math.max(lastStartAtMs ?? 0, entry.firstStartAtMs);
  }
  return {
    partitionKey: partitionKeyOfVqueue(queue.id),
    id: queue.id,
    service: queue.service,
    scope: queue.scope,
    limitKey: queue.limitKey,
    lockName: queue.lockName,
    paused: queue.pause !== undefined,
    createdAtMs: Number.isFinite(createdAtMs) ? createdAtMs : (queue.pause?.pausedAtMs ?? 0),
    lastEnqueuedAtMs,
    lastStartAtMs,
    inboxCount: count.inbox,
    runningCount: count.running,
    suspendedCount: count.suspended,
    pausedCount: count.paused,
    head: queue.lockName === undefined ? scopeHead(head) : lockHead(queue, queue.lockName),
  };
}

function scopeHead(head: LiveQueueHead): FlowQueueRow["head"] {
  return head && { entryId: head.id, blockedOn: head.blockedOn, sinceMs: head.sinceMs };
}

/** Returns the first entry in the queue of an object. */
function lockHead({ entries, lock, pause }: QueueUnderway, lockName: string): FlowQueueRow["head"] {
  let first: FlowEntryRow | undefined;
  for (const entry of entries) {
    if (entry.stage !== "inbox" || entry.status === "scheduled") continue;
    if (first === undefined || entry.sequence < first.sequence) first = entry;
  }
  if (first === undefined) return undefined;
  const holder: InvocationId | undefined = lock?.holder;
  const blockedOn: FlowBlock =
    pause !== undefined && holder === undefined ? { kind: "paused" } : { kind: "lock", lockName, holder };
  return { entryId: first.entryId, blockedOn, sinceMs: first.transitionedAtMs };
}
