/**
 * Reads the facts about an invocation from their sources (record, journal, the lock that it queues for, invoker, registry, flow control),
 * once for each invocation, and passes them to `insight` as values.
 */
import { type InvocationId, partitionOf, type VqueueId, vqueueId } from "@perdure/base";
import type { HandlerView, RegistryView } from "@perdure/control";
import {
  type Explanation,
  explain,
  type FlowFacts,
  gatherSituations,
  type InvocationContext,
  type InvocationSnapshot,
  type InvokerView,
  type LockFacts,
  type RouteFacts,
  type Situation,
  situationOf,
} from "@perdure/diagnostics";
import {
  type InboxEntry,
  type Inboxed,
  type Invocation,
  isExclusive,
  type JournalEntry,
  type JournalEvent,
  keyspaceOf,
  type ObjectLock,
} from "@perdure/state-machine";
import { EXPLAINED_ENTRIES_MAX, QUEUE_PLACES_COUNTED_MAX } from "../limits.js";

/** A plain value where it is available without I/O. */
type Awaitable<T> = T | Promise<T>;

/** Read access to the state of an environment's partitions. Stores, invokers and workers satisfy it as they are. */
export interface InsightSource {
  readonly partitionCount: number;
  readonly store: {
    readonly reads: {
      invocation(partition: number, id: InvocationId): Awaitable<Invocation | undefined>;
      lock(partition: number, service: string, key: string): Awaitable<ObjectLock | undefined>;
      inbox(partition: number, service: string, key: string, seq: number): Awaitable<InboxEntry | undefined>;
    };
    /** Rejects with `JournalTooLarge` when the entries have more than `bytesMax` bytes. */
    readJournal(partition: number, id: InvocationId, length: number, bytesMax?: number): Promise<readonly JournalEntry[]>;
    events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]>;
    /** Keys are binary strings; `service` is a keyspace. */
    stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
    /** Queues that an operator has paused; their number is bounded. */
    flow(partition: number): Promise<{ readonly pauses: readonly { readonly queue: VqueueId }[] }>;
  };
  readonly invoker: {
    status(id: InvocationId): Awaitable<InvokerView | undefined>;
    /** Facts of flow control about an invocation that waits for a slot; undefined when it does not wait for one (any more). */
    flowWait(id: InvocationId): Awaitable<FlowFacts | undefined>;
  };
}

interface InsightPorts {
  readonly insight: InsightSource;
  readonly registry: RegistryView;
}

/** Undefined when the invocation is not stored. */
export async function explainInvocation(ports: InsightPorts, id: InvocationId): Promise<Explanation | undefined> {
  const root = await readSituation(ports, id);
  if (root === undefined) return undefined;
  return explain(root, await gatherSituations(root, (other) => readSituation(ports, other)));
}

async function readSituation(ports: InsightPorts, id: InvocationId): Promise<Situation | undefined> {
  const snapshot = await readSnapshot(ports.insight, id);
  return snapshot === undefined ? undefined : situationOf(snapshot, await surroundingsOf(ports, snapshot.invocation));
}

/**
 * Record, journal and events are consistent only if no command was applied between the reads; each is a state that existed before the end
 * of the read. Rejects with `JournalTooLarge` when the entries have more than `bytesMax` bytes.
 */
export async function readSnapshot(
  { store, invoker, partitionCount }: InsightSource,
  id: InvocationId,
  entriesMax = EXPLAINED_ENTRIES_MAX,
  bytesMax?: number,
): Promise<InvocationSnapshot | undefined> {
  const partition = partitionOf(id, partitionCount);
  const invocation = await store.reads.invocation(partition, id);
  if (invocation === undefined) return undefined;
  const { journal } = invocation;
  const held = await invoker.status(id);
  const length = Math.min(journal.length, entriesMax);
  const [entries, events] = await Promise.all([
    length === 0 ? [] : store.readJournal(partition, id, length, bytesMax),
    journal.hasEvents ? store.events(partition, id) : [],
  ]);
  return { invocation, held, entries, events };
}

async function surroundingsOf({ insight, registry }: InsightPorts, invocation: Invocation): Promise<InvocationContext> {
  const partition = partitionOf(invocation.facts.id, insight.partitionCount);
  const waitsForSlot = invocation.status === "ready" || (invocation.status === "inboxed" && invocation.waitsFor === "slot");
  return {
    lock: invocation.status === "inboxed" ? await lockOf(insight, partition, invocation) : undefined,
    flow: waitsForSlot ? await insight.invoker.flowWait(invocation.facts.id) : undefined,
    route: routeOf(registry, invocation),
  };
}

async function lockOf({ store }: InsightSource, partition: number, invocation: Inboxed): Promise<LockFacts | undefined> {
  const { target } = invocation.facts;
  if (invocation.waitsFor !== "lock" || !isExclusive(target)) return undefined;
  const keyspace = keyspaceOf(target);
  const lock = await store.reads.lock(partition, keyspace, target.key);
  if (lock === undefined) return undefined; // The invocation got the lock between the two reads.
  const last = Math.min(invocation.inboxSeq, lock.head + QUEUE_PLACES_COUNTED_MAX);
  // Requested at once, so that a store behind a network receives one batch.
  const places = Array.from({ length: Math.max(0, last - lock.head) }, (_, n) =>
    store.reads.inbox(partition, keyspace, target.key, lock.head + n),
  );
  const ahead = (await Promise.all(places)).filter((entry) => entry !== undefined).length;
  const queue = vqueueId({ service: target.service, scope: undefined, limitKey: undefined, lockKey: target.key });
  const isPaused = (await store.flow(partition)).pauses.some((pause) => pause.queue === queue);
  return { holder: lock.holder, isPaused, ahead, aheadIsLeast: last < invocation.inboxSeq };
}

/** The same choice that the invoker makes for the next attempt. */
export function routeOf(registry: RegistryView, { facts, pinned }: Invocation): RouteFacts {
  const { deployments, services } = registry.current();
  const { service, handler } = facts.target;
  const latest = services.get(service);
  const deploymentId = pinned?.deploymentId ?? latest?.deploymentId;
  const deployment = deploymentId === undefined ? undefined : deployments.get(deploymentId);
  const described = deployment?.services.get(service)?.handlers.get(handler);
  const retry = retryOf(described ?? latest?.handlers.get(handler));
  const isPinned = pinned !== undefined;
  if (deployment === undefined)
    return { kind: isPinned ? "gone" : "noService", deploymentId, isPinned, retry, idleMs: undefined };
  const keepsStream = deployment.protocolType === "bidiStream" && deployment.address.kind === "http";
  const idleMs = keepsStream ? described?.inactivityTimeoutMs : 0;
  return { kind: described === undefined ? "handlerRemoved" : "found", deploymentId, isPinned, retry, idleMs };
}

function retryOf(handler: HandlerView | undefined): RouteFacts["retry"] {
  if (handler === undefined) return undefined;
  return { attemptsMax: handler.retryPolicy.maxAttempts, onMaxAttempts: handler.retryPolicy.onMaxAttempts };
}
