/**
 * Batches run in the background of the management API and continue after a restart. This is the only code that begins, stores, lists,
 * cancels and deletes them. Of several processes with the same documents, each accepts requests and one (the leader) runs the batches:
 *
 *     begin, cancel ▸ documents ▸ leader is notified ▸ runs ▸ documents ▸ any process answers
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { BatchVerb } from "@perdure/admin-contract";
import type { DeploymentChoice } from "@perdure/admin-contract/requests";
import {
  type BatchId,
  backoffMs,
  type InvocationId,
  type Logger,
  newBatchId,
  PerdureError,
  pause,
  siblingInvocationId,
  type TimerHandle,
} from "@perdure/base";
import type { DocumentWrite, MetadataStore } from "@perdure/metadata";
import type { UndoMark } from "@perdure/state-machine";
import {
  BATCH_AGAIN_BOUNDS,
  BATCH_CANCEL_WAIT_MS,
  BATCH_CLEANUP_MS,
  BATCH_KEPT_MS,
  BATCH_PAGE_IDS,
  BATCH_POLL_MS,
  BATCH_RESULTS_KEPT_MAX,
  BATCHES_KEPT_MAX,
  BATCHES_RUNNING_MAX,
} from "../limits.js";
import type { OperationPorts } from "./apply-one.js";
import {
  type BatchRecord,
  type BatchResult,
  documentOf,
  idsPage,
  pageKey,
  pageOf,
  RECORD_PREFIX,
  recordKey,
  recordOf,
  resultsOf,
} from "./record.js";
import { BatchOwnedElsewhere, BatchRun } from "./run-batch.js";

/** About two milliseconds of work. */
const PAGES_PER_TURN = 4;

interface BatchPorts extends OperationPorts {
  readonly metadata: MetadataStore;
  readonly logger: Logger;
}

interface NewBatch {
  readonly operation: BatchVerb;
  readonly filter: string | undefined;
  readonly ids: readonly InvocationId[];
  readonly moreMatched: boolean;
  readonly deployment: DeploymentChoice | undefined;
  readonly startedBy: string | undefined;
  readonly reason: string | undefined;
  /** The operation that the batch is, or that it undoes. */
  readonly undo?: UndoMark | undefined;
  /** Documents that become durable together with the batch. */
  readonly alongside?: ((id: BatchId) => readonly DocumentWrite[]) | undefined;
}

/** One page of results, in the order of the ids. `isLast`: no further results will follow. */
interface ResultPage {
  readonly results: readonly BatchResult[];
  /** The page to request next; the present page again while its results are missing. Undefined after the last page. */
  readonly next: number | undefined;
}

export interface BatchService extends AsyncDisposable {
  /** Resolves when the batch is durable and has begun; with undefined when too many are running. */
  begin(batch: NewBatch): Promise<BatchRecord | undefined>;
  get(id: BatchId): Promise<BatchRecord | undefined>;
  /** All batches, newest first. */
  list(): Promise<readonly BatchRecord[]>;
  /** Resolves with undefined for an unknown batch. `page` counts from 0. */
  results(id: BatchId, page: number): Promise<ResultPage | undefined>;
  /**
   * Resolves when no operation of the batch is in progress any more; a batch that has ended stays as it is. Undefined for an unknown batch.
   */
  cancel(id: BatchId): Promise<BatchRecord | undefined>;
}

/** Batches that several processes share. */
export interface SharedBatches extends BatchService {
  /** Runs all batches that have not ended, until it is disposed of. `mayAct`: see `RunPorts`. At most once at a time. */
  lead(mayAct: () => boolean): Promise<AsyncDisposable>;
  /**
   * Call it when documents below `BATCHES_PREFIX` changed: the leader starts batches that other processes began and cancels those that they
   * cancelled.
   */
  refresh(): Promise<void>;
}

/**
 * Batches of a single process: continues every batch that has not ended. Rejects with PerdureError STO… when the metadata cannot be read;
 * then no batch continues.
 */
export async function openBatches(ports: BatchPorts): Promise<BatchService> {
  const batches = new KeptBatches(ports, "refuse");
  try {
    await batches.lead(() => true);
    return batches;
  } catch (cause) {
    await batches[Symbol.asyncDispose]();
    throw cause;
  }
}

/** Batches of several processes: none runs before `lead` is called. */
export function openSharedBatches(ports: BatchPorts): SharedBatches {
  return new KeptBatches(ports, "skip");
}

/** Key prefix of the documents that describe batches. */
export const BATCHES_PREFIX = RECORD_PREFIX;

interface RunningBatch {
  readonly run: BatchRun;
  readonly over: Promise<void>;
}

interface BatchLeadership {
  readonly mayAct: () => boolean;
  readonly stopping: AbortController;
}

class KeptBatches implements SharedBatches {
  readonly #ports: BatchPorts;
  /** Treatment of records that cannot be read. With several processes such a record may be of another version. */
  readonly #unreadable: "refuse" | "skip";
  readonly #running = new Map<BatchId, RunningBatch>();
  readonly #closing = new AbortController();
  #lead: BatchLeadership | undefined;
  #again: TimerHandle | undefined;
  #cleanup: TimerHandle | undefined;
  #cleaning: Promise<void> = Promise.resolve();
  /** Batches that have begun but are not durable yet. */
  readonly #beginning = new Set<BatchId>();

  constructor(ports: BatchPorts, unreadable: "refuse" | "skip") {
    this.#ports = ports;
    this.#unreadable = unreadable;
    this.#cleanLater();
  }

  async lead(mayAct: () => boolean): Promise<AsyncDisposable> {
    const lead: BatchLeadership = { mayAct, stopping: new AbortController() };
    this.#lead = lead;
    const end = async (): Promise<void> => {
      lead.stopping.abort();
      this.#again?.cancel();
      if (this.#lead === lead) this.#lead = undefined;
      await Promise.all([...this.#running.values()].map(({ over }) => over));
    };
    try {
      await this.refresh();
    } catch (cause) {
      await end();
      throw cause;
    }
    return { [Symbol.asyncDispose]: end };
  }

  async refresh(): Promise<void> {
    if (this.#lead === undefined) return;
    const { metadata, logger } = this.#ports;
    for (const document of await metadata.list(RECORD_PREFIX)) {
      const lead = this.#lead;
      if (lead === undefined) return;
      const record = recordOf(document);
      if (record === undefined) {
        const reason = `the metadata document '${document.key}' cannot be read`;
        if (this.#unreadable === "refuse") throw new PerdureError("STO0003", reason);
        logger.error({ reason }, "batch record cannot be read; skipping it");
        continue;
      }
      if (record.state !== "running" || this.#beginning.has(record.id)) continue;
      const existing = this.#running.get(record.id);
      if (existing === undefined) await this.#takeUp(lead, record.id);
      else if (record.cancelling) existing.run.cancel();
    }
  }

  /** Reads the record again: the batch may have ended in this process while all records were read. */
  async #takeUp(lead: BatchLeadership, id: BatchId): Promise<void> {
    const document = await this.#ports.metadata.get(recordKey(id));
    const record = document === undefined ? undefined : recordOf(document);
    if (document === undefined || record?.state !== "running") return;
    if (this.#lead !== lead || this.#running.has(id) || this.#beginning.has(id)) return;
    this.#start(lead, record, document.version, !record.isBegun);
  }

  async begin(batch: NewBatch): Promise<BatchRecord | undefined> {
    if (this.#running.size + this.#beginning.size >= BATCHES_RUNNING_MAX) return undefined;
    const record = this.#newRecord(batch);
    this.#beginning.add(record.id);
    try {
      const elsewhere = (await this.#clean(batch.ids.length)).filter(
        ({ id, state }) => state === "running" && !this.#running.has(id) && !this.#beginning.has(id),
      );
      if (this.#running.size + this.#beginning.size + elsewhere.length > BATCHES_RUNNING_MAX) return undefined;
      const { metadata, clock, random } = this.#ports;
      const writes: DocumentWrite[] = [{ kind: "put", key: recordKey(record.id), value: documentOf(record), expectedVersion: 0 }];
      for (let page = 0; page < record.pages; page++) {
        if (page % PAGES_PER_TURN === PAGES_PER_TURN - 1) await nextTurn(); // Generating ids would block the event loop.
        const ids = batch.ids.slice(page * BATCH_PAGE_IDS, (page + 1) * BATCH_PAGE_IDS);
        const copies =
          batch.operation === "restart-as-new" ? ids.map((id) => siblingInvocationId(id, clock.nowMs(), random)) : [];
        writes.push({ kind: "put", key: pageKey(record.id, page), value: idsPage(ids, copies), expectedVersion: 0 });
      }
      const outcome = await metadata.write([...writes, ...(batch.alongside?.(record.id) ?? [])]);
      if (outcome.kind === "conflict")
        throw new PerdureError("STO0003", `the metadata document '${outcome.key}' is there already`);
      if (this.#lead !== undefined) this.#start(this.#lead, record, outcome.version, true);
      return record;
    } finally {
      this.#beginning.delete(record.id);
    }
  }

  async get(id: BatchId): Promise<BatchRecord | undefined> {
    const running = this.#running.get(id);
    if (running !== undefined) return running.run.record;
    const document = await this.#ports.metadata.get(recordKey(id));
    return document === undefined ? undefined : recordOf(document);
  }

  async list(): Promise<readonly BatchRecord[]> {
    const documents = await this.#ports.metadata.list(RECORD_PREFIX);
    const records = documents.flatMap((document) => recordOf(document) ?? []);
    return records
      .map((record) => this.#running.get(record.id)?.run.record ?? record)
      .sort((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
  }

  async results(id: BatchId, page: number): Promise<ResultPage | undefined> {
    const record = await this.get(id);
    if (record === undefined) return undefined;
    if (page >= record.pages) return { results: [], next: undefined };
    const document = await this.#ports.metadata.get(pageKey(id, page));
    const stored = document === undefined ? undefined : pageOf(document);
    const isDone = stored?.kind === "results";
    const isLast = page + 1 >= record.pages || (record.state !== "running" && page + 1 >= record.page);
    const next = isDone ? page + 1 : page;
    return { results: resultsOf(stored), next: isLast && (isDone || record.state !== "running") ? undefined : next };
  }

  async cancel(id: BatchId): Promise<BatchRecord | undefined> {
    const { clock } = this.#ports;
    const running = this.#running.get(id);
    if (running !== undefined) {
      running.run.cancel();
      await running.over;
    }
    const untilMs = clock.monotonicMs() + BATCH_CANCEL_WAIT_MS;
    for (;;) {
      const record = await this.#requestCancel(id);
      if (record?.state !== "running" || clock.monotonicMs() >= untilMs) return record;
      await this.refresh(); // If this process runs the batch and it stopped on an error, taking it up again ends it.
      await (this.#running.get(id)?.over ?? pause(clock, BATCH_POLL_MS));
    }
  }

  /** Stores the request to cancel in the record, where the process that runs the batch, now or later, reads it. */
  async #requestCancel(id: BatchId): Promise<BatchRecord | undefined> {
    const { metadata } = this.#ports;
    for (;;) {
      const document = await metadata.get(recordKey(id));
      const record = document === undefined ? undefined : recordOf(document);
      if (document === undefined || record === undefined || record.state !== "running" || record.cancelling) return record;
      const cancelling: BatchRecord = { ...record, cancelling: true };
      const put = { kind: "put", key: document.key, value: documentOf(cancelling), expectedVersion: document.version } as const;
      if ((await metadata.write([put])).kind === "written") return cancelling;
    }
  }

  /** Operations in progress finish; the rest of each batch continues after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#lead?.stopping.abort();
    this.#lead = undefined;
    this.#again?.cancel();
    this.#cleanup?.cancel();
    await Promise.all([...this.#running.values()].map(({ over }) => over));
    await this.#cleaning;
  }

  #newRecord(batch: NewBatch): BatchRecord {
    const { clock, random } = this.#ports;
    const nowMs = clock.nowMs();
    return {
      id: newBatchId(nowMs, random),
      operation: batch.operation,
      filter: batch.filter ?? null,
      deployment: batch.deployment ?? null,
      startedBy: batch.startedBy ?? null,
      reason: batch.reason ?? null,
      createdAtMs: nowMs,
      matched: batch.ids.length,
      moreMatched: batch.moreMatched,
      pages: Math.ceil(batch.ids.length / BATCH_PAGE_IDS),
      state: "running",
      isBegun: this.#lead !== undefined,
      cancelling: false,
      page: 0,
      pageBegunAtMs: nowMs,
      succeeded: 0,
      failed: 0,
      finishedAtMs: null,
      undo: batch.undo ?? null,
    };
  }

  #start(lead: BatchLeadership, record: BatchRecord, version: number, isFresh: boolean): void {
    const run = new BatchRun({ ...this.#ports, mayAct: lead.mayAct }, record, version, isFresh);
    const over = this.#work(run, record.id, lead).finally(() => this.#running.delete(record.id));
    this.#running.set(record.id, { run, over });
  }

  /** Never rejects, because no caller may be waiting. */
  async #work(run: BatchRun, batchId: BatchId, lead: BatchLeadership): Promise<void> {
    const { logger } = this.#ports;
    try {
      await run.work(lead.stopping.signal);
      const { state, matched, succeeded, failed } = run.record;
      if (state !== "running") logger.info({ batchId, state, matched, succeeded, failed }, "batch is over");
    } catch (cause) {
      if (cause instanceof BatchOwnedElsewhere) return logger.info({ batchId }, "batch continues in another process");
      logger.error({ cause, batchId }, "batch stopped on an error; it will continue");
      this.#refreshLater(lead);
    }
  }

  #refreshLater(lead: BatchLeadership): void {
    this.#again?.cancel();
    const { clock, random } = this.#ports;
    this.#again = clock.setTimer(backoffMs(0, BATCH_AGAIN_BOUNDS, random), () => {
      if (this.#lead !== lead || lead.stopping.signal.aborted) return;
      this.refresh().catch((cause: unknown) => {
        this.#ports.logger.warn({ cause }, "batches could not be listed");
        this.#refreshLater(lead);
      });
    });
  }

  // ── retention ──────────────────────────────────────────────────────────────────────────────────

  #cleanLater(): void {
    this.#cleanup = this.#ports.clock.setTimer(BATCH_CLEANUP_MS, () => {
      this.#cleaning = this.#clean(0)
        .then(
          () => undefined,
          (cause: unknown) => this.#ports.logger.warn({ cause }, "finished batches could not be cleaned up"),
        )
        .finally(() => {
          if (!this.#closing.signal.aborted) this.#cleanLater();
        });
    });
  }

  /**
   * Deletes batches that are too old, and the oldest when `coming` more ids would exceed the bound. Running ones stay. Resolves with the
   * records before deletion.
   */
  async #clean(coming: number): Promise<readonly BatchRecord[]> {
    const nowMs = this.#ports.clock.nowMs();
    const records = await this.list();
    let count = coming > 0 ? 1 : 0;
    let ids = coming;
    for (const record of records) {
      count++;
      ids += record.matched;
      if (record.state === "running") continue;
      const isOld = nowMs - (record.finishedAtMs ?? record.createdAtMs) >= BATCH_KEPT_MS;
      if (isOld || count > BATCHES_KEPT_MAX || ids > BATCH_RESULTS_KEPT_MAX) await this.#delete(record);
    }
    return records;
  }

  async #delete({ id, pages }: BatchRecord): Promise<void> {
    const writes: DocumentWrite[] = [{ kind: "delete", key: recordKey(id), expectedVersion: undefined }];
    for (let page = 0; page < pages; page++) writes.push({ kind: "delete", key: pageKey(id, page), expectedVersion: undefined });
    await this.#ports.metadata.write(writes);
  }
}
