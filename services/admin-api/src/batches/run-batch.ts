/**
 * Runs one batch: page after page, a few invocations at a time, and after each page one atomic write with its results and the progress of
 * the batch.
 *
 *     page ids ─▶ apply, some at a time ─▶ { results of the page, record: next page } ─▶ next page
 *                                           └ a crash before this write: the page is applied again, after a check of each invocation
 */
import { Backoff, type Clock, causeMessage, InvariantError, type InvocationId, type Logger } from "@perdure/base";
import type { DocumentWrite, MetadataStore } from "@perdure/metadata";
import type { VerbOutcome } from "../invocation-operations.js";
import { BATCH_RETRY_BOUNDS, BATCH_TRIES_MAX, BATCH_WORKERS_MAX } from "../limits.js";
import { alreadyDone, applyOne, type BatchOperation, isUnavailable, type OperationPorts } from "./apply-one.js";
import {
  type BatchRecord,
  type BatchResult,
  choiceOf,
  documentOf,
  pageKey,
  pageOf,
  recordKey,
  recordOf,
  resultsPage,
} from "./record.js";

interface BatchRunPorts extends OperationPorts {
  readonly metadata: MetadataStore;
  readonly logger: Logger;
  /** False when another process may be running batches now: then no further operation begins. */
  readonly mayAct: () => boolean;
}

/** Another process writes the batch's record and continues it. */
export class BatchOwnedElsewhere extends Error {
  override readonly name = "BatchTakenOver";
}

export class BatchRun {
  readonly #ports: BatchRunPorts;
  #record: BatchRecord;
  /** Version of the record's document. */
  #version: number;
  /** A previous process may have applied operations of the current page. */
  #isResumed: boolean;
  #pageSucceeded = 0;
  #pageFailed = 0;
  readonly #cancelling = new AbortController();

  /** `isFresh`: no process has begun the batch. */
  constructor(ports: BatchRunPorts, record: BatchRecord, version: number, isFresh: boolean) {
    this.#ports = ports;
    this.#record = record;
    this.#version = version;
    this.#isResumed = !isFresh;
    if (record.cancelling) this.cancel();
  }

  /** The record as of now, with progress that is not stored yet. */
  get record(): BatchRecord {
    const { succeeded, failed } = this.#record;
    return { ...this.#record, succeeded: succeeded + this.#pageSucceeded, failed: failed + this.#pageFailed };
  }

  /** Operations in progress finish, no other begins. */
  cancel(): void {
    this.#cancelling.abort();
  }

  /**
   * Resolves when the batch is finished or cancelled and its record is stored, or when `stopping` is aborted; then the batch must be
   * continued later. Rejects with `BatchOwnedElsewhere`, or PerdureError STO… when the metadata cannot be read or written.
   */
  async work(stopping: AbortSignal): Promise<void> {
    if (!this.#record.isBegun) await this.#put(() => ({ ...this.#record, isBegun: true }), []);
    while (this.#record.page < this.#record.pages && !this.#cancelling.signal.aborted) {
      const results = await this.#page(stopping);
      if (stopping.aborted || !this.#ports.mayAct()) return; // The next run checks which operations of the page were applied.
      await this.#write(results);
    }
    if (this.#record.state === "running" && !stopping.aborted && this.#ports.mayAct()) await this.#write(undefined);
  }

  async #page(stopping: AbortSignal): Promise<readonly BatchResult[]> {
    const { id, page, pageBegunAtMs, operation } = this.#record;
    const document = await this.#ports.metadata.get(pageKey(id, page));
    const stored = document === undefined ? undefined : pageOf(document);
    if (stored?.kind !== "ids") throw new InvariantError(`page ${page} of ${id} is there until it is done`);
    const results: (BatchResult | undefined)[] = new Array<undefined>(stored.ids.length).fill(undefined);
    const halt = AbortSignal.any([stopping, this.#cancelling.signal]);
    const todo = { verb: operation, choice: choiceOf(this.#record), undo: this.#record.undo ?? undefined };
    const queue = stored.ids.entries();
    const isCheckNeeded = this.#isResumed;
    const worker = async (): Promise<void> => {
      for (const [index, one] of queue) {
        if (halt.aborted || !this.#ports.mayAct()) return;
        const outcome = await this.#one(todo, one, stored.newIds[index], isCheckNeeded ? pageBegunAtMs : undefined, halt);
        if (outcome === undefined) return;
        if (outcome.problem === undefined) this.#pageSucceeded++;
        else this.#pageFailed++;
        const { status, problem, newId: createdId, note, isFinal = false } = outcome;
        results[index] = { id: one, status, problem, newId: createdId, note, isFinal };
      }
    };
    await Promise.all(Array.from({ length: Math.min(BATCH_WORKERS_MAX, stored.ids.length) }, worker));
    return results.filter((result) => result !== undefined);
  }

  /**
   * Retries until the partition is available, and checks the state first whenever the operation may have been applied. Undefined when
   * halted before it was applied.
   */
  async #one(
    todo: BatchOperation,
    id: InvocationId,
    newId: InvocationId | undefined,
    mayBeDoneSinceMs: number | undefined,
    halt: AbortSignal,
  ): Promise<VerbOutcome | undefined> {
    const { clock, random, logger } = this.#ports;
    const backoff = new Backoff(BATCH_RETRY_BOUNDS, random);
    let sinceMs = mayBeDoneSinceMs;
    for (let tries = 1; ; tries++) {
      const startedAtMs = clock.nowMs();
      try {
        const done = sinceMs === undefined ? undefined : await alreadyDone(this.#ports, todo, id, newId, sinceMs);
        return done ?? (await applyOne(this.#ports, todo, id, newId));
      } catch (cause) {
        if (!isUnavailable(cause)) {
          logger.error({ cause, batchId: this.#record.id, invocationId: id }, "an operation of a batch failed");
          return { status: 500, problem: "Internal error; the server's log says more", newId: undefined };
        }
        if (tries === BATCH_TRIES_MAX) return { status: 503, problem: causeMessage(cause), newId: undefined };
        sinceMs ??= startedAtMs;
        if (await isHaltedWithin(clock, backoff.next(), halt)) return undefined;
      }
    }
  }

  /** Stores the results of the current page, if any, in one write with the record that points to the next page. */
  async #write(results: readonly BatchResult[] | undefined): Promise<void> {
    const { id, page, pages } = this.#record;
    const nextPage = results === undefined ? page : page + 1;
    const result: readonly DocumentWrite[] =
      results === undefined
        ? []
        : [{ kind: "put", key: pageKey(id, page), value: resultsPage(results), expectedVersion: undefined }];
    await this.#put((nowMs) => {
      const isCancelled = this.#cancelling.signal.aborted;
      const isOver = isCancelled || nextPage === pages;
      return {
        ...this.record,
        page: nextPage,
        pageBegunAtMs: nowMs,
        state: isCancelled ? "cancelled" : isOver ? "finished" : "running",
        finishedAtMs: isOver ? nowMs : null,
      };
    }, result);
    this.#isResumed = false;
  }

  async #put(next: (nowMs: number) => BatchRecord, others: readonly DocumentWrite[]): Promise<void> {
    const { metadata, clock } = this.#ports;
    for (;;) {
      const record = next(clock.nowMs());
      const key = recordKey(record.id);
      const put = { kind: "put", key, value: documentOf(record), expectedVersion: this.#version } as const;
      const outcome = await metadata.write([put, ...others]);
      if (outcome.kind === "written") {
        this.#version = outcome.version;
        this.#record = record;
        this.#pageSucceeded = 0; // These are included in the record.
        this.#pageFailed = 0;
        return;
      }
      await this.#readCancellation();
    }
  }

  /**
   * Another writer of the record is accepted only if all it changed is the request to cancel; otherwise the batch belongs to that process.
   */
  async #readCancellation(): Promise<void> {
    const { id, page, pageBegunAtMs } = this.#record;
    const document = await this.#ports.metadata.get(recordKey(id));
    const present = document === undefined ? undefined : recordOf(document);
    const isOurs = present?.state === "running" && present.page === page && present.pageBegunAtMs === pageBegunAtMs;
    if (document === undefined || !isOurs || !present.cancelling) throw new BatchOwnedElsewhere(id);
    this.#version = document.version;
    this.cancel();
  }
}

/** Waits; resolves with true when `halt` was aborted meanwhile. */
function isHaltedWithin(clock: Clock, ms: number, halt: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const halted = () => {
      timer.cancel();
      resolve(true);
    };
    const timer = clock.setTimer(ms, () => {
      halt.removeEventListener("abort", halted);
      resolve(halt.aborted);
    });
    halt.addEventListener("abort", halted, { once: true });
    if (halt.aborted) halted();
  });
}
