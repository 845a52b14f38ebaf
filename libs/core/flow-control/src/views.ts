/**
 * Reads the state of the scheduler for introspection, without changing it. Costs grow with the number of waiting and running
 * invocations.
 */
import type { InvocationId, VqueueId } from "@perdure/base";
import { availableOf } from "./bucket.js";
import type { FlowBlock, FlowBucketRow, FlowLevel, FlowLimitRow, FlowWait, FlowWaitLevel } from "./rows.js";
import { type FlowScheduler, idOf } from "./scheduler.js";
import type { LimitNode, SchedulerEntry, ServiceQueue } from "./tree.js";

/** The waiting and running invocations of a queue in the scheduler. */
interface LiveQueue {
  readonly id: VqueueId;
  readonly service: string;
  readonly scope: string;
  readonly limitKey: string | undefined;
  readonly isPaused: boolean;
  readonly waitingCount: number;
  readonly head: { readonly id: InvocationId; readonly sinceMs: number; readonly blockedOn: FlowBlock | undefined } | undefined;
}

export function liveQueues(scheduler: FlowScheduler): LiveQueue[] {
  const heads = new Map<ServiceQueue, SchedulerEntry | undefined>();
  for (const entry of scheduler.entries()) {
    const { queue } = entry;
    const head = heads.get(queue);
    if (!waits(entry)) heads.set(queue, head);
    else if (head === undefined || comesBefore(entry, head)) heads.set(queue, entry);
  }
  return [...heads].map(([queue, head]) => ({
    id: idOf(queue),
    service: queue.service,
    scope: queue.scope,
    limitKey: queue.limitKey,
    isPaused: queue.isPaused,
    waitingCount: queue.waitingCount,
    head: head && { id: head.id, sinceMs: head.sinceMs, blockedOn: blockOf(head, scheduler.nowMs) },
  }));
}

/** Rows of the counters of scopes and keys in use. */
export function limitRows(scheduler: FlowScheduler, partitionKeyOf: (scope: string) => bigint): FlowLimitRow[] {
  const waiters = new Map<LimitNode, Set<ServiceQueue>>();
  for (const entry of scheduler.entries())
    if (waits(entry)) for (const node of above(entry)) noteWaiter(waiters, node, entry.queue);
  const rows: FlowLimitRow[] = [];
  for (const node of scheduler.nodes()) {
    if (node.entryCount === 0) continue;
    const { scope, l1, l2, usage, rule } = node;
    rows.push({
      partitionKey: partitionKeyOf(scope),
      scope,
      l1,
      l2,
      level: levelOf(node),
      usage,
      limit: rule?.concurrency,
      rule: rule?.pattern,
      waiterCount: waiters.get(node)?.size ?? 0,
    });
  }
  return rows;
}

/** Rows of the buckets that were drawn on and may not be full again. */
export function bucketRows(scheduler: FlowScheduler, nowMs: number, partitionKeyOf: (scope: string) => bigint): FlowBucketRow[] {
  const rows: FlowBucketRow[] = [];
  for (const { scope, l1, l2, rule, bookedUntilMicros } of scheduler.nodes()) {
    if (rule?.rate === undefined || bookedUntilMicros === 0) continue;
    const available = availableOf(bookedUntilMicros, rule.rate, nowMs);
    rows.push({ partitionKey: partitionKeyOf(scope), scope, l1, l2, rule: rule.pattern, rate: rule.rate, available });
  }
  return rows;
}

/** Returns what blocks an invocation; undefined when it does not wait here. */
export function waitOf(scheduler: FlowScheduler, id: InvocationId): FlowWait | undefined {
  const entry = scheduler.entry(id);
  if (entry === undefined || !waits(entry)) return undefined;
  const path = [...above(entry)].reverse().filter(({ rule }) => rule !== undefined);
  const waiting = new Map<LimitNode, number>(path.map((node) => [node, 0]));
  let place = 1;
  for (const other of scheduler.entries()) {
    if (!waits(other)) continue;
    if (other.queue === entry.queue && comesBefore(other, entry)) place++;
    for (const node of above(other)) {
      const count = waiting.get(node);
      if (count !== undefined) waiting.set(node, count + 1);
    }
  }
  return {
    scope: entry.queue.scope,
    limitKey: entry.queue.limitKey,
    sinceMs: entry.sinceMs,
    levels: path.map((node) => waitLevel(node, entry, waiting.get(node) ?? 0, scheduler.nowMs)),
    isQueuePaused: entry.queue.isPaused,
    place,
  };
}

function waitLevel(node: LimitNode, entry: SchedulerEntry, waiting: number, nowMs: number): FlowWaitLevel {
  const isClosed = isClosedFor(node, entry, nowMs);
  return {
    name: node.name,
    rule: node.rule?.pattern ?? "",
    used: node.usage,
    limit: node.rule?.concurrency,
    waiting,
    nextAtMs: isClosed ? node.opensAtMs : undefined,
    isFull: node.isFull || isClosed,
  };
}

/** Returns the first reason, from the scope down, for which the entry cannot start; undefined: only entries that are served before it. */
function blockOf(entry: SchedulerEntry, nowMs: number): FlowBlock | undefined {
  if (entry.queue.isPaused) return { kind: "paused" };
  for (const node of [...above(entry)].reverse()) {
    const { rule } = node;
    if (rule === undefined) continue;
    const level = levelOf(node);
    if (node.isFull) return { kind: "concurrency", level, rule: rule.pattern, limit: rule.concurrency ?? 0 };
    if (isClosedFor(node, entry, nowMs)) return { kind: "rate", level, rule: rule.pattern, untilMs: node.opensAtMs };
  }
  return undefined;
}

function isClosedFor(node: LimitNode, entry: SchedulerEntry, nowMs: number): boolean {
  return !entry.isWoken && node.rule?.rate !== undefined && node.opensAtMs > nowMs;
}

function waits(entry: SchedulerEntry): boolean {
  return entry.state === "waiting" || entry.state === "held";
}

/** Woken entries come before new ones. */
function comesBefore(a: SchedulerEntry, b: SchedulerEntry): boolean {
  if (a.isWoken !== b.isWoken) return a.isWoken;
  return a.order < b.order || (a.order === b.order && a.sequence < b.sequence);
}

function* above(entry: SchedulerEntry): Iterable<LimitNode> {
  for (let node: LimitNode | undefined = entry.leaf.node; node?.parent !== undefined; node = node.parent) yield node;
}

function noteWaiter(waiters: Map<LimitNode, Set<ServiceQueue>>, node: LimitNode, queue: ServiceQueue): void {
  const queues = waiters.get(node) ?? new Set();
  waiters.set(node, queues.add(queue));
}

function levelOf({ l1, l2 }: LimitNode): FlowLevel {
  return l1 === undefined ? "Scope" : l2 === undefined ? "Level1" : "Level2";
}
