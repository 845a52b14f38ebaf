/**
 * Present state of flow control: queues, their invocations and what their heads wait for. The columns are those of the reference
 * (introspection-sql.md §1); its moving averages and finished entries are not kept here, they are NULL and 0.
 */
import { hashString, parseInvocationId, parseVqueueId, partitionOf, partitionOfKey, partitionOfVqueue } from "@perdure/base";
import type { FlowBlock, FlowEntryRow, FlowHead, FlowLevel } from "@perdure/flow-control";
import type { IntrospectionSource, QueueRow } from "../ports.js";
import { allowedValues, isNeeded, type ScanHints } from "../query/hints.js";
import { defineTable, type Readers } from "../table.js";

export const vqueueMeta = defineTable<QueueRow>({
  name: "sys_vqueue_meta",
  readers: {
    partition_key: ({ queue }) => queue.partitionKey,
    id: ({ queue }) => queue.id,
    is_active: ({ queue }) => queue.inboxCount + queue.runningCount > 0,
    queue_is_paused: ({ queue }) => queue.paused,
    service_name: ({ queue }) => queue.service,
    scope: ({ queue }) => queue.scope,
    limit_key: ({ queue }) => queue.limitKey,
    lock_name: ({ queue }) => queue.lockName,
    created_at: ({ queue }) => queue.createdAtMs,
    last_enqueued_at: ({ queue }) => queue.lastEnqueuedAtMs,
    last_start_at: ({ queue }) => queue.lastStartAtMs,
    last_attempt_at: ({ queue }) => queue.lastStartAtMs,
    num_inbox: ({ queue }) => queue.inboxCount,
    num_running: ({ queue }) => queue.runningCount,
    num_suspended: ({ queue }) => queue.suspendedCount,
    num_paused: ({ queue }) => queue.pausedCount,
    num_finished: () => 0,
  },
  rows: queuesOf,
});

/** A row only for queues that are not empty or are paused. */
export const scheduler = defineTable<QueueRow>({
  name: "sys_scheduler",
  readers: {
    partition_key: ({ queue }) => queue.partitionKey,
    id: ({ queue }) => queue.id,
    num_inbox: ({ queue }) => queue.inboxCount,
    status: ({ queue }) => schedulerStatus(queue),
    head_entry_id: ({ queue }) => queue.head?.entryId,
    scheduled_at: ({ queue }) => releaseTimeOf(queue.head),
    blocked_on: ({ queue }) => resourceOf(queue.head?.blockedOn),
    blocked_on_json: ({ queue }) => blockJson(queue),
    invoker_concurrency_block_duration: () => 0,
    throttling_rules_block_duration: (row) => blockedMs(row, "rate"),
    invoker_throttling_block_duration: () => 0,
    invoker_memory_block_duration: () => 0,
    concurrency_rules_block_duration: (row) => blockedMs(row, "concurrency"),
    lock_block_duration: (row) => blockedMs(row, "lock"),
    deployment_concurrency_block_duration: () => 0,
  },
  async *rows(source, hints) {
    for await (const row of queuesOf(source, hints)) {
      if (row.queue.inboxCount > 0 || row.queue.paused) yield row;
    }
  },
});

const entryReaders: Readers<FlowEntryRow> = {
  partition_key: ({ partitionKey }) => partitionKey,
  entry_id: ({ entryId }) => entryId,
  entry_kind: ({ entryKind }) => entryKind,
  stage: ({ stage }) => stage,
  status: ({ status }) => status,
  has_lock: ({ hasLock }) => hasLock,
  sequence_number: ({ sequence }) => sequence,
  created_at: ({ createdAtMs }) => createdAtMs,
  transitioned_at: ({ transitionedAtMs }) => transitionedAtMs,
  num_attempts: ({ runCount }) => runCount,
  first_attempt_at: ({ firstStartAtMs }) => firstStartAtMs,
  first_runnable_at: ({ createdAtMs, runAtMs }) => runAtMs ?? createdAtMs,
  deployment: ({ deploymentId }) => deploymentId,
};

export const vqueues = defineTable<FlowEntryRow>({
  name: "sys_vqueues",
  readers: {
    ...entryReaders,
    id: ({ queueId }) => queueId,
    run_at: (entry) => (entry.stage === "inbox" ? nextAt(entry) : undefined),
  },
  rows: (source, hints) => entriesOf(source, hints, "id"),
});

export const vqueueEntryStatus = defineTable<FlowEntryRow>({
  name: "sys_vqueue_entry_status",
  readers: { ...entryReaders, vqueue_id: ({ queueId }) => queueId, next_at: nextAt },
  rows: (source, hints) => entriesOf(source, hints, "vqueue_id"),
});

async function* queuesOf(source: IntrospectionSource, hints: ScanHints): AsyncIterable<QueueRow> {
  for await (const row of source.live.queues(partitionsFor(source, hints, "id"))) {
    if (isNeeded(hints, "id", row.queue.id)) yield row;
  }
}

async function* entriesOf(source: IntrospectionSource, hints: ScanHints, queueColumn: string): AsyncIterable<FlowEntryRow> {
  for await (const entry of source.live.queueEntries(partitionsFor(source, hints, queueColumn))) {
    if (isNeeded(hints, queueColumn, entry.queueId) && isNeeded(hints, "entry_id", entry.entryId)) yield entry;
  }
}

/** Partitions that can have rows for the statement; undefined: all. */
function partitionsFor(source: IntrospectionSource, hints: ScanHints, queueColumn: string): readonly number[] | undefined {
  const count = source.partitionCount;
  return (
    placesOf(allowedValues(hints, queueColumn), (text) => ofQueue(text, count)) ??
    placesOf(allowedValues(hints, "entry_id"), (text) => ofEntry(text, count)) ??
    partitionsOfScopes(source, hints)
  );
}

/** A scope is in one partition. */
export function partitionsOfScopes({ partitionCount }: IntrospectionSource, hints: ScanHints): readonly number[] | undefined {
  return placesOf(allowedValues(hints, "scope"), (scope) => partitionOfKey(hashString(scope), partitionCount));
}

function placesOf(values: ReadonlySet<string> | undefined, place: (value: string) => number | undefined) {
  if (values === undefined) return undefined;
  const places = new Set<number>();
  for (const value of values) {
    const partition = place(value);
    if (partition !== undefined) places.add(partition);
  }
  return [...places];
}

/** Nothing has a malformed id: an empty result is more useful than an error. */
function ofQueue(text: string, count: number): number | undefined {
  const id = parseVqueueId(text);
  return id.ok ? partitionOfVqueue(id.value, count) : undefined;
}

function ofEntry(text: string, count: number): number | undefined {
  const id = parseInvocationId(text);
  return id.ok ? partitionOf(id.value, count) : undefined;
}

/** Returns the time at which the entry may run, as far as only time is concerned. */
function nextAt({ createdAtMs, runAtMs }: FlowEntryRow): number {
  return runAtMs ?? createdAtMs;
}

function schedulerStatus({ head, paused, inboxCount }: QueueRow["queue"]): string {
  if (paused) return "paused";
  if (head === undefined) return inboxCount > 0 ? "scheduled" : "empty"; // An entry that is not due yet is not a head.
  if (head.blockedOn === undefined) return "ready";
  return head.blockedOn.kind === "paused" ? "paused" : "blocked";
}

function releaseTimeOf(head: FlowHead | undefined): number | undefined {
  return head?.blockedOn?.kind === "rate" ? head.blockedOn.untilMs : undefined;
}

function resourceOf(block: FlowBlock | undefined): string | undefined {
  switch (block?.kind) {
    case "concurrency":
      return "limit-key-concurrency";
    case "rate":
      return "limit-key-rate";
    case "lock":
      return "lock";
    default:
      return undefined;
  }
}

function blockJson({ head, scope, limitKey }: QueueRow["queue"]): string | undefined {
  const block = head?.blockedOn;
  const resource = resourceOf(block);
  switch (block?.kind) {
    case "concurrency":
    case "rate": {
      const blocked_level = LEVEL_TEXTS[block.level];
      return JSON.stringify({ resource, scope, limit_key: limitKey ?? null, blocked_level, blocked_rule: block.rule });
    }
    case "lock":
      return JSON.stringify({ resource, scope: scope ?? null, lock_name: block.lockName });
    default:
      return undefined;
  }
}

const LEVEL_TEXTS: Readonly<Record<FlowLevel, string>> = { Scope: "scope", Level1: "level1", Level2: "level2" };

/** Returns the time that the head has been waiting for this reason. */
function blockedMs({ queue: { head }, nowMs }: QueueRow, kind: FlowBlock["kind"]): number {
  return head?.blockedOn?.kind === kind ? Math.max(0, nowMs - head.sinceMs) : 0;
}
