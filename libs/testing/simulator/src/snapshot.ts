/** Reads a whole partition back out of the store, for the invariants. */
import { fromUtf8, type InvocationId } from "@perdure/base";
import {
  decodeStateExpiry,
  type Invocation,
  type JournalEntry,
  type PartitionSnapshot,
  STATE_EXPIRY_ROW,
  STATE_TTL_SERVICE,
  THROTTLE_KEY_COUNT,
} from "@perdure/state-machine";
import type { PartitionStore } from "@perdure/storage";

/** Maximum number of rows of a snapshot: more timers and messages than any world has. */
const ROWS_MAX = 10_000;

export async function snapshotOf(store: PartitionStore, partition: number): Promise<PartitionSnapshot> {
  const invocations: Invocation[] = [
    ...(await all(store.unfinished(partition, undefined))),
    ...(await all(store.completed(partition))),
  ];
  const journals = new Map<InvocationId, (JournalEntry | undefined)[]>();
  for (const { facts, journal } of invocations) {
    const entries: (JournalEntry | undefined)[] = [];
    for (let index = 0; index < journal.length; index++) entries.push(store.reads.entry(partition, facts.id, index));
    const behind = store.reads.entry(partition, facts.id, journal.length);
    if (behind !== undefined) entries.push(behind);
    journals.set(facts.id, entries);
  }
  const precise = await store.timers(partition, "precise", 0, ROWS_MAX);
  const retention = await store.timers(partition, "retention", 0, ROWS_MAX);
  return {
    invocations,
    journals,
    locks: await all(store.scanLocks(partition)),
    inboxes: await all(store.scanInboxes(partition)),
    promises: await all(store.scanPromises(partition)),
    timers: [...precise, ...retention, ...(await store.timers(partition, "state", 0, ROWS_MAX))],
    expiries: (await all(store.scanState(partition, STATE_TTL_SERVICE)))
      .filter(({ stateKey }) => stateKey === STATE_EXPIRY_ROW)
      .map(({ value }) => decodeStateExpiry(value)),
    throttleKeyCounts: (await all(store.scanState(partition, THROTTLE_KEY_COUNT.service))).map(({ value }) =>
      Number(fromUtf8(value)),
    ),
    pendingCommands: (await store.outbox(partition, -1, ROWS_MAX)).map(({ command }) => command),
    pauses: (await store.flow(partition)).pauses.map(({ pause }) => pause),
  };
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const row of rows) list.push(row);
  return list;
}
