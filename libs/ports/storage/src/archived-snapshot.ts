/**
 * Lets SQL statements read partitions and their archive as one. Rows are passed on in their stored form, which is the same in both, so
 * that an archived invocation costs a statement no more than a stored one.
 */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry, JournalEvent } from "@perdure/state-machine";
import type { Archive } from "./archive.js";
import { ArchivedGenerations, DELETED_GENERATIONS } from "./archived-generations.js";
import { InvocationFields } from "./codec/invocation-fields.js";
import type { InboxRow, LockRow, PromiseRow, StateRange, StateRow } from "./partition-store.js";

/** The partitions as one statement reads them. */
interface StatementSnapshot extends AsyncDisposable {
  invocationRows(partition: number, group: "unfinished" | "completed"): AsyncIterable<readonly Uint8Array[]>;
  invocationRow(partition: number, id: InvocationId): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  readJournal(partition: number, id: InvocationId, length: number): Promise<readonly JournalEntry[]>;
  events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]>;
  stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
  scanState(partition: number, service: string | undefined, where?: StateRange): AsyncIterable<StateRow>;
  scanPromises(partition: number): AsyncIterable<PromiseRow>;
  scanLocks(partition: number): AsyncIterable<LockRow>;
  scanInboxes(partition: number): AsyncIterable<InboxRow>;
}

interface ArchivedRowLookup {
  readonly id: InvocationId;
  readonly row: PromiseWithResolvers<Uint8Array | undefined>;
}

/**
 * The snapshot of one statement. Statements that do not concern completed invocations never query the archive; all others reject with
 * STO0001 while the archive is unavailable, because their result would be incomplete without any sign of it.
 */
export class ArchivedSnapshot implements StatementSnapshot {
  readonly #store: StatementSnapshot;
  readonly #archive: Archive;
  readonly #generations: ArchivedGenerations;
  readonly #fields = new InvocationFields();
  /** Ids returned from the partition that was read last, so that an invocation that moves to the archive meanwhile is returned once. */
  readonly #returnedIds = new Set<InvocationId>();
  #returnedIdsPartition: number | undefined;
  /** Look-ups by partition that wait for the current request to the archive and then go out together. */
  readonly #waiting = new Map<number, ArchivedRowLookup[]>();
  readonly #requestingPartitions = new Set<number>();

  constructor(store: StatementSnapshot, archive: Archive, nowMs: () => number) {
    this.#store = store;
    this.#archive = archive;
    this.#generations = new ArchivedGenerations(store, archive, nowMs);
  }

  /**
   * Read the unfinished invocations of a partition before its completed ones. Completed invocations of services outside `services` may
   * be left out.
   */
  async *invocationRows(
    partition: number,
    group: "unfinished" | "completed",
    services?: ReadonlySet<string>,
  ): AsyncIterable<readonly Uint8Array[]> {
    if (group === "unfinished" || this.#returnedIdsPartition !== partition) this.#returnedIds.clear();
    this.#returnedIdsPartition = partition;
    for await (const rows of this.#store.invocationRows(partition, group)) {
      for (const row of rows) this.#returnedIds.add(this.#idOf(row));
      yield rows;
    }
    if (group === "unfinished") return;
    for (const service of services ?? [undefined]) {
      for await (const page of this.#generations.scan(partition, { service })) {
        const rows = page.filter(({ id }) => !this.#returnedIds.has(id)).map(({ row }) => row);
        if (rows.length > 0) yield rows;
      }
    }
  }

  async invocationRow(partition: number, id: InvocationId): Promise<Uint8Array | undefined> {
    return (await this.#store.invocationRow(partition, id)) ?? this.#lookUp(partition, id);
  }

  async readJournal(partition: number, id: InvocationId, length: number): Promise<readonly JournalEntry[]> {
    const stored = await this.#store.readJournal(partition, id, length);
    if (stored.length >= length || !(await this.#isArchived(partition, id))) return stored;
    return (await this.#archive.journal(id)).slice(0, length);
  }

  async events(partition: number, id: InvocationId): Promise<readonly JournalEvent[]> {
    const stored = await this.#store.events(partition, id);
    return stored.length === 0 && (await this.#isArchived(partition, id)) ? this.#archive.events(id) : stored;
  }

  /** Leaves out the notes of leaders. */
  async *scanState(partition: number, service: string | undefined, where?: StateRange): AsyncIterable<StateRow> {
    for await (const row of this.#store.scanState(partition, service, where))
      if (row.service !== DELETED_GENERATIONS.service) yield row;
  }

  stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>> {
    return this.#store.stateOf(partition, service, key);
  }
  scanPromises(partition: number): AsyncIterable<PromiseRow> {
    return this.#store.scanPromises(partition);
  }
  scanLocks(partition: number): AsyncIterable<LockRow> {
    return this.#store.scanLocks(partition);
  }
  scanInboxes(partition: number): AsyncIterable<InboxRow> {
    return this.#store.scanInboxes(partition);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#returnedIds.clear();
    await this.#store[Symbol.asyncDispose]();
  }

  #idOf(row: Uint8Array): InvocationId {
    this.#fields.load(row);
    return this.#fields.invocationId;
  }

  /** Whether the id is in the archive and not in the store. Of an id that is used again only the latest generation counts. */
  async #isArchived(partition: number, id: InvocationId): Promise<boolean> {
    if ((await this.#store.invocationRow(partition, id)) !== undefined) return false;
    return (await this.#lookUp(partition, id)) !== undefined;
  }

  #lookUp(partition: number, id: InvocationId): Promise<Uint8Array | undefined> {
    const row = Promise.withResolvers<Uint8Array | undefined>();
    const waiting = this.#waiting.get(partition);
    if (waiting === undefined) this.#waiting.set(partition, [{ id, row }]);
    else waiting.push({ id, row });
    if (!this.#requestingPartitions.has(partition)) void this.#request(partition);
    return row.promise;
  }

  /** Sends the waiting look-ups of a partition. Never rejects. */
  async #request(partition: number): Promise<void> {
    this.#requestingPartitions.add(partition);
    for (let some = this.#take(partition); some !== undefined; some = this.#take(partition)) {
      try {
        const rows = await this.#generations.find(
          partition,
          some.map(({ id }) => id),
        );
        for (const { id, row } of some) row.resolve(rows.get(id));
      } catch (cause) {
        for (const { row } of some) row.reject(cause);
      }
    }
    this.#requestingPartitions.delete(partition);
  }

  #take(partition: number): readonly ArchivedRowLookup[] | undefined {
    const some = this.#waiting.get(partition);
    this.#waiting.delete(partition);
    return some;
  }
}
