/**
 * Presents a partition store and its archive as one store, for readers outside the partition: SQL and the journal views. Leaders read
 * through the processor instead, which queries the archive outside the turn, so that a slow archive delays only commands that need it.
 */
import type { InvocationId } from "@perdure/base";
import type { Invocation, JournalEntry, JournalEvent } from "@perdure/state-machine";
import type { Archive } from "./archive.js";
import { ArchivedGenerations, DELETED_GENERATIONS } from "./archived-generations.js";
import type { AsyncPartitionStore, FetchedRow, RowKey } from "./async-reads.js";
import { decodeInvocation } from "./codec/invocation.js";
import type { StateRange, StateRow } from "./partition-store.js";

/**
 * Combines `store` and `archive` for reading. A read rejects with STO0001 also when only the archive fails and the store does not have
 * the row. `nowMs` returns the current time; archived invocations whose retention is over are left out.
 */
export function archived(store: AsyncPartitionStore, archive: Archive, nowMs: () => number): AsyncPartitionStore {
  const generations = new ArchivedGenerations(store, archive, nowMs);

  const isStored = async (partition: number, id: InvocationId): Promise<boolean> => {
    const [row] = await store.fetch(partition, [{ kind: "invocation", id }]);
    return row?.value !== undefined;
  };

  /** Returns the entries of an archived generation, unless the store has an invocation with this id. */
  const archivedEntries = async (partition: number, id: InvocationId, bytesMax?: number): Promise<readonly JournalEntry[]> => {
    if (await isStored(partition, id)) return [];
    return (await generations.find(partition, [id])).has(id) ? archive.journal(id, bytesMax) : [];
  };

  const filled = async (
    partition: number,
    row: FetchedRow,
    archivedRows: ReadonlyMap<InvocationId, Uint8Array>,
  ): Promise<FetchedRow> => {
    switch (row.kind) {
      case "invocation":
        return row.value === undefined ? { ...row, value: decoded(archivedRows.get(row.id)) } : row;
      case "journal":
        return row.value.length === 0 ? { ...row, value: await archivedEntries(partition, row.id) } : row;
      case "entry":
        return row.value === undefined ? { ...row, value: (await archivedEntries(partition, row.id))[row.index] } : row;
      default:
        return row;
    }
  };

  return {
    capabilities: store.capabilities,
    claim: (partition) => store.claim(partition),
    commit: (batches) => store.commit(batches),
    async fetch(partition, keys: readonly RowKey[]) {
      const rows = await store.fetch(partition, keys);
      const absent = rows.flatMap((row) => (row.kind === "invocation" && row.value === undefined ? row.id : []));
      const archivedRows = await generations.find(partition, absent);
      return Promise.all(rows.map((row) => filled(partition, row, archivedRows)));
    },
    async readJournal(partition, id, length, bytesMax) {
      const stored = await store.readJournal(partition, id, length, bytesMax);
      if (stored.length >= length) return stored;
      // The invocation may have been archived during the read.
      const entries = await archivedEntries(partition, id, bytesMax);
      return entries.length > 0 ? entries.slice(0, length) : stored;
    },
    async events(partition, id): Promise<readonly JournalEvent[]> {
      const events = await store.events(partition, id);
      if (events.length > 0 || (await isStored(partition, id))) return events;
      return (await generations.find(partition, [id])).has(id) ? archive.events(id) : events;
    },
    async *completed(partition) {
      // The store is read first and its ids are kept, so that an invocation that moves to the archive meanwhile is returned once.
      const storedIds = new Set<InvocationId>();
      for await (const invocation of store.completed(partition)) {
        storedIds.add(invocation.facts.id);
        yield invocation;
      }
      for await (const page of generations.scan(partition, {}))
        for (const { id, row } of page) if (!storedIds.has(id)) yield decodeInvocation(row);
    },
    async *scanState(partition, service, where: StateRange = "everywhere"): AsyncIterable<StateRow> {
      for await (const row of store.scanState(partition, service, where))
        if (row.service !== DELETED_GENERATIONS.service) yield row;
    },
    stateOf: (partition, service, key) => store.stateOf(partition, service, key),
    promisesOf: (partition, service, key) => store.promisesOf(partition, service, key),
    timers: (partition, group, fromMs, limit) => store.timers(partition, group, fromMs, limit),
    outbox: (partition, afterSeq, limit) => store.outbox(partition, afterSeq, limit),
    recoverable: (partition, counted) => store.recoverable(partition, counted),
    flow: (partition) => store.flow(partition),
    unfinished: (partition, status) => store.unfinished(partition, status),
    scanPromises: (partition) => store.scanPromises(partition),
    scanLocks: (partition) => store.scanLocks(partition),
    scanInboxes: (partition) => store.scanInboxes(partition),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function decoded(row: Uint8Array | undefined): Invocation | undefined {
  return row === undefined ? undefined : decodeInvocation(row);
}
