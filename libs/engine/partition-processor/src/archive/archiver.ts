/**
 * Moves completed invocations that have aged from the store to the archive: it first puts them there, and removes them from the store
 * only when that is durable. After a crash between the two steps it repeats them with the same result. While the archive is unavailable
 * nothing leaves the store; when it is available again, the archiver catches up page by page.
 */

import type { Clock, InvocationId, Logger, TimerHandle } from "@perdure/base";
import { causeMessage } from "@perdure/base";
import type { Completed } from "@perdure/state-machine";
import { type ArchivableStore, type Archive, type ArchiveOutcome, type ArchiveRecord, archiveRecord } from "@perdure/storage";
import { ARCHIVE_PAGE, ARCHIVE_PUT_BYTES, ARCHIVED_BYTES_MAX, TOO_LARGE_MAX } from "../limits.js";
import type { Processor } from "../processor.js";

export interface ArchiverPorts {
  readonly store: ArchivableStore;
  readonly archive: Archive;
  /** Leads the partitions that are archived, and uses the same archive. */
  readonly processor: Processor;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with the number of invocations that have moved to the archive durably. */
  readonly onArchived?: (count: number) => void;
}

export interface ArchiverOptions {
  /** Completed invocations are moved this long after their completion. At least 1. */
  readonly ageMs: number;
  /** Interval between two runs. */
  readonly intervalMs: number;
}

export class Archiver implements AsyncDisposable {
  readonly #ports: ArchiverPorts;
  readonly #options: ArchiverOptions;
  readonly #tooLarge = new Map<number, Set<InvocationId>>();
  #timer: TimerHandle | undefined;
  #working: Promise<void> = Promise.resolve();
  #isAway = false;
  #isClosed = false;
  readonly #closed = Promise.withResolvers<never>();

  /** The first run begins after one interval. */
  constructor(ports: ArchiverPorts, options: ArchiverOptions) {
    this.#ports = ports;
    this.#options = options;
    // Each run that waits for the archive handles this rejection; without one it must not count as unhandled.
    this.#closed.promise.catch(() => undefined);
    this.#schedule();
  }

  /** Begins no further run. Requests already sent to the archive may still take effect: they are fenced or idempotent. */
  stop(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#closed.reject(new Error("archiving stops"));
  }

  /** Ends after the step under way, without waiting for an archive that does not respond. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#working;
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = this.#ports.clock.setTimer(this.#options.intervalMs, () => {
      this.#working = this.#archiveOnce().then(() => this.#schedule());
    });
  }

  /** Never rejects: the next run repeats what failed. */
  async #archiveOnce(): Promise<void> {
    const { archive, clock, logger, processor } = this.#ports;
    try {
      for (const leadership of processor.leaderships) {
        if (!this.#isClosed) await this.#workOn(leadership);
      }
      let expired = ARCHIVE_PAGE;
      while (expired === ARCHIVE_PAGE && !this.#isClosed)
        expired = await this.#unlessStopped(archive.expire(clock.nowMs(), ARCHIVE_PAGE));
      if (this.#isAway) logger.info({}, "the archive is available again");
      this.#isAway = false;
    } catch (cause) {
      if (this.#isClosed) return;
      const reason = causeMessage(cause);
      if (!this.#isAway) logger.warn({ reason }, "archiving failed; completed invocations stay in the store until it succeeds");
      this.#isAway = true;
    }
  }

  async #workOn(leadership: { readonly partition: number; readonly epoch: number }): Promise<void> {
    const { archive, clock, processor, store } = this.#ports;
    const { partition } = leadership;
    const beforeMs = clock.nowMs() - this.#options.ageMs + 1;
    while (!this.#isClosed) {
      // Deletions come first: a deletion must not follow the archiving of a later generation of its id.
      if (!(await this.#deleteGenerations(leadership))) return;
      const tooLarge = this.#tooLarge.get(partition) ?? NONE;
      if (tooLarge.size >= TOO_LARGE_MAX) this.#tooLarge.delete(partition); // Some of them may have been deleted by now.
      const candidates = await store.completedBefore(partition, beforeMs, ARCHIVE_PAGE + tooLarge.size);
      const ids = candidates.filter((id) => !tooLarge.has(id));
      if (ids.length === 0) return;
      let moved = 0;
      for (const records of pagesOf(await this.#records(partition, ids))) {
        const put = await this.#unlessStopped(archive.put(leadership, records));
        if (this.#isFenced(partition, put)) return;
        const count = await processor.evict(partition, records);
        if (count < 0) return;
        moved += count;
        this.#ports.onArchived?.(count);
      }
      if (moved === 0 || ids.length < ARCHIVE_PAGE) return; // Invocations that changed during the run are handled by the next one.
    }
  }

  /** Returns false when the leadership was lost. */
  async #deleteGenerations(leadership: { readonly partition: number; readonly epoch: number }): Promise<boolean> {
    const { archive, processor } = this.#ports;
    const { partition } = leadership;
    for (;;) {
      const generations = processor.deletedGenerations(partition, ARCHIVE_PAGE);
      if (generations.length === 0) return true;
      if (this.#isFenced(partition, await this.#unlessStopped(archive.delete(leadership, generations)))) return false;
      processor.deletedFromArchive(partition, generations);
    }
  }

  /** Settles as the request does; rejects when the archiver stops before. */
  #unlessStopped<T>(answer: Promise<T>): Promise<T> {
    return Promise.race([answer, this.#closed.promise]);
  }

  #isFenced(partition: number, outcome: ArchiveOutcome): boolean {
    if (outcome.kind === "done") return false;
    this.#ports.logger.warn({ partition, by: outcome.by }, "the archive has a newer leader; archiving stops");
    return true;
  }

  /** Returns complete records; an invocation that changes while it is read is left to the next run. */
  async #records(partition: number, ids: readonly InvocationId[]): Promise<readonly ArchiveRecord[]> {
    const { store } = this.#ports;
    const rows = await store.fetch(
      partition,
      ids.map((id) => ({ kind: "invocation", id })),
    );
    const records = await Promise.all(
      rows.map((row) =>
        row.kind === "invocation" && row.value?.status === "completed" ? this.#record(partition, row.value) : undefined,
      ),
    );
    return records.filter((record) => record !== undefined);
  }

  async #record(partition: number, invocation: Completed): Promise<ArchiveRecord | undefined> {
    const { store } = this.#ports;
    const { facts, journal } = invocation;
    const [row] = journal.length === 0 ? [] : await store.fetch(partition, [{ kind: "journal", id: facts.id }]);
    const entries = row?.kind === "journal" ? row.value : [];
    const events = journal.hasEvents ? await store.events(partition, facts.id) : [];
    if (entries.length !== journal.length) return undefined;
    const record = archiveRecord(invocation, entries, events);
    if (bytesOf(record) <= ARCHIVED_BYTES_MAX) return record;
    const tooLarge = this.#tooLarge.get(partition) ?? new Set();
    this.#tooLarge.set(partition, tooLarge.add(facts.id));
    return undefined;
  }
}

const NONE: ReadonlySet<InvocationId> = new Set();

function bytesOf({ row, journal, events }: ArchiveRecord): number {
  return row.length + journal.length + events.length;
}

function* pagesOf(records: readonly ArchiveRecord[]): Iterable<readonly ArchiveRecord[]> {
  let page: ArchiveRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (page.length > 0 && bytes + bytesOf(record) > ARCHIVE_PUT_BYTES) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(record);
    bytes += bytesOf(record);
  }
  if (page.length > 0) yield page;
}
