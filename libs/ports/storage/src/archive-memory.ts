/** An archive in memory, for tests and simulations. */
import type { InvocationId } from "@perdure/base";
import type { JournalEntry, JournalEvent } from "@perdure/state-machine";
import type {
  Archive,
  ArchivedGeneration,
  ArchivedRow,
  ArchiveFilter,
  ArchiveOutcome,
  ArchiveRecord,
  ArchivingLeader,
} from "./archive.js";
import { unpackRows } from "./archive-record.js";
import { decodeEntry, decodeEvent } from "./codec/rows.js";
import { boundedEntries } from "./journal-too-large.js";

const PAGE = 64;
const DONE: ArchiveOutcome = Object.freeze({ kind: "done" });

export class MemoryArchive implements Archive {
  readonly #records = new Map<InvocationId, ArchiveRecord & { readonly partition: number }>();
  readonly #epochs = new Map<number, number>();

  get size(): number {
    return this.#records.size;
  }

  async put(leader: ArchivingLeader, records: readonly ArchiveRecord[]): Promise<ArchiveOutcome> {
    const fenced = this.#fence(leader);
    if (fenced !== undefined) return fenced;
    for (const record of records) this.#records.set(record.id, { ...record, partition: leader.partition });
    return DONE;
  }

  async delete(leader: ArchivingLeader, generations: readonly ArchivedGeneration[]): Promise<ArchiveOutcome> {
    const fenced = this.#fence(leader);
    if (fenced !== undefined) return fenced;
    for (const { id, retainedUntilMs } of generations)
      if (this.#records.get(id)?.retainedUntilMs === retainedUntilMs) this.#records.delete(id);
    return DONE;
  }

  async find(ids: readonly InvocationId[]): Promise<readonly ArchivedRow[]> {
    return ids.flatMap((id) => this.#records.get(id) ?? []);
  }

  async journal(id: InvocationId, bytesMax?: number): Promise<readonly JournalEntry[]> {
    const record = this.#records.get(id);
    if (record === undefined) return [];
    return boundedEntries(unpackRows(record.journal).map(decodeEntry), bytesMax);
  }

  async events(id: InvocationId): Promise<readonly JournalEvent[]> {
    const record = this.#records.get(id);
    return record === undefined ? [] : unpackRows(record.events).map(decodeEvent);
  }

  async expire(nowMs: number, limit: number): Promise<number> {
    const due = [...this.#records.values()].filter((each) => each.expires && each.retainedUntilMs <= nowMs).slice(0, limit);
    for (const { id } of due) this.#records.delete(id);
    return due.length;
  }

  async *scan(filter: ArchiveFilter): AsyncIterable<readonly ArchivedRow[]> {
    const { partition, service, isFailure, createdFromMs = 0, createdToMs = Number.POSITIVE_INFINITY } = filter;
    const matches = [...this.#records.values()]
      .filter((each) => partition === undefined || each.partition === partition)
      .filter((each) => service === undefined || each.service === service)
      .filter((each) => isFailure === undefined || each.isFailure === isFailure)
      .filter((each) => each.createdAtMs >= createdFromMs && each.createdAtMs < createdToMs)
      .sort((a, b) => a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1));
    for (let from = 0; from < matches.length; from += PAGE) yield matches.slice(from, from + PAGE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#records.clear();
  }

  #fence({ partition, epoch }: ArchivingLeader): ArchiveOutcome | undefined {
    const highest = this.#epochs.get(partition) ?? 0;
    if (epoch < highest) return { kind: "fenced", by: highest };
    this.#epochs.set(partition, epoch);
    return undefined;
  }
}
