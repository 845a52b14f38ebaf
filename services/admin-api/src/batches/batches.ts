/**
 * Why: batches run in the background of the management API and go on where they were after a restart. This is the only one who
 * begins, keeps, shows, cancels and forgets them.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type BatchId,
  type InvocationId,
  type Logger,
  newBatchId,
  PerdureError,
  siblingInvocationId,
  type TimerHandle,
} from "@perdure/base";
import type { DocumentWrite, MetadataStore } from "@perdure/metadata";
import type { DeploymentChoice, Verb } from "../invocation-operations.js";
import {
  BATCH_CLEANUP_MS,
  BATCH_KEPT_MS,
  BATCH_PAGE_IDS,
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
import { BatchRun, BatchTakenOver } from "./run-batch.js";

/** Some two milliseconds of work. */
const PAGES_PER_TURN = 4;

export interface BatchPorts extends OperationPorts {
  readonly metadata: MetadataStore;
  readonly logger: Logger;
}

export interface NewBatch {
  readonly operation: Verb;
  readonly filter: string | undefined;
  readonly ids: readonly InvocationId[];
  readonly moreMatched: boolean;
  readonly deployment: DeploymentChoice | undefined;
  readonly startedBy: string | undefined;
  readonly reason: string | undefined;
}

/** One page of results, in the order of the ids. `isLast`: no more will come. */
export interface ResultPage {
  readonly results: readonly BatchResult[];
  /** The page to ask for next; the same again while its results are not there yet. Undefined after the last. */
  readonly next: number | undefined;
}

export interface Batches extends AsyncDisposable {
  /** Durable and begun when it resolves; undefined when too many are running. */
  begin(batch: NewBatch): Promise<BatchRecord | undefined>;
  get(id: BatchId): Promise<BatchRecord | undefined>;
  /** The newest first. */
  list(): Promise<readonly BatchRecord[]>;
  /** Undefined for an unknown batch. `page` from 0. */
  results(id: BatchId, page: number): Promise<ResultPage | undefined>;
  /** Resolves when nothing of it is under way any more; a batch that is over stays as it is. Undefined for an unknown one. */
  cancel(id: BatchId): Promise<BatchRecord | undefined>;
}

/** Goes on with every batch that is not over. Rejects with PerdureError STO… when the metadata cannot be read. */
export async function openBatches(ports: BatchPorts): Promise<Batches> {
  const batches = new KeptBatches(ports);
  await batches.goOn();
  return batches;
}

interface Running {
  readonly run: BatchRun;
  readonly over: Promise<void>;
}

class KeptBatches implements Batches {
  readonly #ports: BatchPorts;
  readonly #running = new Map<BatchId, Running>();
  readonly #stopping = new AbortController();
  #cleanup: TimerHandle | undefined;
  #cleaning: Promise<void> = Promise.resolve();
  /** Begun, but not yet durable. */
  #beginning = 0;

  constructor(ports: BatchPorts) {
    this.#ports = ports;
  }

  async goOn(): Promise<void> {
    for (const document of await this.#ports.metadata.list(RECORD_PREFIX)) {
      const record = recordOf(document);
      if (record === undefined) {
        throw new PerdureError("STO0003", `the metadata document '${document.key}' cannot be read`);
      }
      if (record.state === "running") this.#start(new BatchRun(this.#ports, record, document.version, true), record.id);
    }
    this.#cleanLater();
  }

  async begin(batch: NewBatch): Promise<BatchRecord | undefined> {
    if (this.#running.size + this.#beginning >= BATCHES_RUNNING_MAX) return undefined;
    this.#beginning++;
    try {
      await this.#clean(batch.ids.length);
      const { metadata, clock, random } = this.#ports;
      const record = this.#newRecord(batch);
      const writes: DocumentWrite[] = [{ kind: "put", key: recordKey(record.id), value: documentOf(record), expectedVersion: 0 }];
      for (let page = 0; page < record.pages; page++) {
        if (page % PAGES_PER_TURN === PAGES_PER_TURN - 1) await nextTurn(); // Making ids takes time, and invocations go on meanwhile.
        const ids = batch.ids.slice(page * BATCH_PAGE_IDS, (page + 1) * BATCH_PAGE_IDS);
        const copies =
          batch.operation === "restart-as-new" ? ids.map((id) => siblingInvocationId(id, clock.nowMs(), random)) : [];
        writes.push({ kind: "put", key: pageKey(record.id, page), value: idsPage(ids, copies), expectedVersion: 0 });
      }
      const outcome = await metadata.write(writes);
      if (outcome.kind === "conflict")
        throw new PerdureError("STO0003", `the metadata document '${outcome.key}' is there already`);
      const run = new BatchRun(this.#ports, record, outcome.version, false);
      this.#start(run, record.id);
      return run.record;
    } finally {
      this.#beginning--;
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
    const running = this.#running.get(id);
    if (running !== undefined) {
      running.run.cancel();
      await running.over;
    }
    return this.#cancelElsewhere(id);
  }

  /** A batch that stopped on an error, or runs in another process: whoever writes its record next finds out. */
  async #cancelElsewhere(id: BatchId): Promise<BatchRecord | undefined> {
    const { metadata, clock } = this.#ports;
    for (;;) {
      const document = await metadata.get(recordKey(id));
      const record = document === undefined ? undefined : recordOf(document);
      if (document === undefined || record === undefined || record.state !== "running") return record;
      const cancelled: BatchRecord = { ...record, state: "cancelled", finishedAtMs: clock.nowMs() };
      const put = { kind: "put", key: document.key, value: documentOf(cancelled), expectedVersion: document.version } as const;
      if ((await metadata.write([put])).kind === "written") return cancelled;
    }
  }

  /** Nothing is cut short; what is not begun goes on after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
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
      page: 0,
      pageBegunAtMs: nowMs,
      succeeded: 0,
      failed: 0,
      finishedAtMs: null,
    };
  }

  #start(run: BatchRun, id: BatchId): void {
    const over = this.#work(run, id).finally(() => this.#running.delete(id));
    this.#running.set(id, { run, over });
  }

  /** Never rejects: nobody may be waiting. */
  async #work(run: BatchRun, batchId: BatchId): Promise<void> {
    const { logger } = this.#ports;
    try {
      await run.work(this.#stopping.signal);
      const { state, matched, succeeded, failed } = run.record;
      if (state !== "running") logger.info({ batchId, state, matched, succeeded, failed }, "batch is over");
    } catch (cause) {
      if (cause instanceof BatchTakenOver) logger.info({ batchId }, "batch goes on in another process");
      else logger.error({ cause, batchId }, "batch stopped; it goes on after the next start");
    }
  }

  // ── forgetting ─────────────────────────────────────────────────────────────────────────────────

  #cleanLater(): void {
    this.#cleanup = this.#ports.clock.setTimer(BATCH_CLEANUP_MS, () => {
      this.#cleaning = this.#clean(0)
        .catch((cause: unknown) => this.#ports.logger.warn({ cause }, "finished batches could not be looked through"))
        .finally(() => {
          if (!this.#stopping.signal.aborted) this.#cleanLater();
        });
    });
  }

  /** Forgets what is too old, and the oldest of what is too much beside `coming` new ids. Running ones stay. */
  async #clean(coming: number): Promise<void> {
    const nowMs = this.#ports.clock.nowMs();
    const records = await this.list();
    let count = coming > 0 ? 1 : 0;
    let ids = coming;
    for (const record of records) {
      count++;
      ids += record.matched;
      if (record.state === "running") continue;
      const isOld = nowMs - (record.finishedAtMs ?? record.createdAtMs) >= BATCH_KEPT_MS;
      if (isOld || count > BATCHES_KEPT_MAX || ids > BATCH_RESULTS_KEPT_MAX) await this.#forget(record);
    }
  }

  async #forget({ id, pages }: BatchRecord): Promise<void> {
    const writes: DocumentWrite[] = [{ kind: "delete", key: recordKey(id), expectedVersion: undefined }];
    for (let page = 0; page < pages; page++) writes.push({ kind: "delete", key: pageKey(id, page), expectedVersion: undefined });
    await this.#ports.metadata.write(writes);
  }
}
