/**
 * Operations that can be undone. Each is stored before its first change, so that it is listed after any crash; partitions keep what is
 * needed to revert the changes. A change of a few named invocations is undone within the request, that of a batch by another batch.
 */
import type { UndoableChange, UndoableVerb } from "@perdure/admin-contract";
import {
  type BatchId,
  type Clock,
  type InvocationId,
  newOperationId,
  type OperationId,
  PerdureError,
  type Random,
} from "@perdure/base";
import { type DocumentWrite, deletedKey, type MetadataStore } from "@perdure/metadata";
import { UNDO_WINDOW_MAX_MS } from "@perdure/process-kit";
import type { UndoMark } from "@perdure/state-machine";
import type { BatchService } from "../batches/batches.js";
import type { BatchRecord, BatchResult } from "../batches/record.js";
import { RouteError } from "../http/errors.js";
import type { VerbOutcome } from "../invocation-operations.js";
import {
  BATCH_CONCURRENCY_MAX,
  BATCHES_RUNNING_MAX,
  OPERATION_NOTES_MAX,
  OPERATION_SUBJECT_CHARS_MAX,
  OPERATIONS_KEPT_MAX,
} from "../limits.js";
import type { AdminPorts } from "../ports.js";
import type { DeletedCopies } from "./deleted-copies.js";
import { OPERATIONS_PREFIX, type OperationRecord, operationKey, operationOf, putOperation, storedOperations } from "./record.js";
import { dropCopies, isDeletion, undoDeletion } from "./undo-deletion.js";
import { undoOne } from "./undo-one.js";
import { undoRestart } from "./undo-restart.js";

interface OperationsPorts {
  readonly partitions: AdminPorts["partitions"];
  readonly batches: BatchService;
  readonly metadata: Pick<MetadataStore, "get" | "list" | "write">;
  readonly registry: Pick<AdminPorts["registry"], "restoreDeleted">;
  readonly schedules: Pick<AdminPorts["schedules"], "restore">;
  readonly copies: Pick<DeletedCopies, "kept">;
  readonly clock: Clock;
  readonly random: Random;
}

export interface NewOperation {
  readonly verb: UndoableVerb | UndoableChange;
  /** What is changed, when it is not invocations. */
  readonly subject?: string | undefined;
  readonly ids: readonly InvocationId[];
  /** Number of things that are changed; that of `ids` when absent. */
  readonly matched?: number | undefined;
  /** Approximate bytes of the copy of what is deleted. */
  readonly copyBytes?: number | undefined;
  readonly startedBy: string | undefined;
  readonly reason: string | undefined;
}

/** An operation with the batch that undoes it, if one does. */
export interface OperationState {
  readonly record: OperationRecord;
  readonly undoBatch: BatchRecord | undefined;
}

/** Undefined when the window is 0: nothing can be undone. */
export function operationsOf(ports: OperationsPorts, windowMs: number): Operations | undefined {
  return windowMs === 0 ? undefined : new Operations(ports, Math.min(windowMs, UNDO_WINDOW_MAX_MS));
}

export class Operations {
  readonly #ports: OperationsPorts;
  readonly #windowMs: number;
  #stored = 0;

  /** `windowMs`: how long each can be undone; more than 0. */
  constructor(ports: OperationsPorts, windowMs: number) {
    this.#ports = ports;
    this.#windowMs = windowMs;
  }

  /** Resolves when the operation is stored, and rejects with PerdureError when it is not. Call `discard` when it changed nothing. */
  async begin(operation: NewOperation): Promise<UndoMark> {
    await this.#deleteOutdated();
    if (operation.copyBytes !== undefined)
      await dropCopies(this.#ports, await storedOperations(this.#ports.metadata), operation.copyBytes);
    for (let attempt = 0; attempt < BEGIN_ATTEMPTS_MAX; attempt++) {
      const record = this.#newRecord(operation, null, operation.matched ?? operation.ids.length);
      const outcome = await this.#ports.metadata.write([putOperation(record, 0)]);
      if (outcome.kind === "written") {
        if (record.copyBytes > 0) this.#ports.copies.kept(record.untilMs);
        return { operation: record.id, untilMs: record.untilMs };
      }
      // The id is in use. A change must not name an operation that is another one.
    }
    throw new PerdureError("STO0001", `${BEGIN_ATTEMPTS_MAX} new ids of operations were in use already`);
  }

  async discard(id: OperationId): Promise<void> {
    const keys = [operationKey(id), deletedKey(id)];
    await this.#ports.metadata.write(keys.map((key) => ({ kind: "delete", key, expectedVersion: undefined })));
  }

  /** The operation of a batch, which stores it together with itself. */
  async forBatch(operation: NewOperation, matched: number) {
    await this.#deleteOutdated();
    const record = this.#newRecord({ ...operation, ids: [] }, null, matched);
    const alongside = (batchId: BatchId): readonly DocumentWrite[] => [putOperation({ ...record, batchId }, 0)];
    return { undo: { operation: record.id, untilMs: record.untilMs }, alongside };
  }

  /** All operations, newest first. */
  async list(): Promise<readonly OperationState[]> {
    const stored = await storedOperations(this.#ports.metadata);
    await dropCopies(this.#ports, stored, 0);
    const records = stored.map(({ record }) => record);
    records.sort((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1));
    return Promise.all(records.map((record) => this.#stateOf(record)));
  }

  async get(id: OperationId): Promise<OperationState | undefined> {
    const document = await this.#ports.metadata.get(operationKey(id));
    const record = document === undefined ? undefined : operationOf(document);
    return record === undefined ? undefined : this.#stateOf(record);
  }

  /** Undoes it, or returns the state when that was done or has begun. Undefined: unknown. Throws RouteError when nothing can be undone. */
  async undo(id: OperationId): Promise<OperationState | undefined> {
    const document = await this.#ports.metadata.get(operationKey(id));
    const record = document === undefined ? undefined : operationOf(document);
    if (document === undefined || record === undefined) return undefined;
    if (record.undo !== null) return this.#stateOf(record);
    if (record.untilMs <= this.#ports.clock.nowMs()) {
      throw new RouteError(410, `The time to undo the operation '${id}' is over.`, "OPS0008");
    }
    if (isDeletion(record)) {
      const undo = await undoDeletion(this.#ports, record);
      return this.#store({ ...record, copyBytes: 0, undo }, document.version);
    }
    return record.batchId === null ? this.#undoNamed(record, document.version) : this.#undoBatch(record, document.version);
  }

  async #undoNamed(record: OperationRecord, version: number): Promise<OperationState> {
    const outcomes: VerbOutcome[] = [];
    for (let at = 0; at < record.ids.length; at += BATCH_CONCURRENCY_MAX) {
      const ids = record.ids.slice(at, at + BATCH_CONCURRENCY_MAX);
      outcomes.push(...(await Promise.all(ids.map((id) => this.#undoNamedOne(record, id)))));
    }
    const failures = outcomes.filter(({ problem }) => problem !== undefined);
    const [first] = failures;
    if (first !== undefined && failures.length === outcomes.length) {
      throw new RouteError(first.status, first.problem ?? "", first.status === 410 ? "OPS0008" : "OPS0009");
    }
    const notes = outcomes.flatMap(({ problem, note }) => problem ?? note ?? []);
    const undo = {
      startedAtMs: this.#ports.clock.nowMs(),
      batchId: null,
      undone: outcomes.length - failures.length,
      failed: failures.length,
      notes: notes.slice(0, OPERATION_NOTES_MAX),
    };
    return this.#store({ ...record, undo }, version);
  }

  #undoNamedOne(record: OperationRecord, id: InvocationId): Promise<VerbOutcome> {
    return record.verb === "restart-as-new" ? undoRestart(this.#ports, id) : undoOne(this.#ports, id, record);
  }

  /** Of two requests at once the first one stores its answer, and both return it; partitions undo once. */
  async #store(undone: OperationRecord, version: number): Promise<OperationState> {
    const outcome = await this.#ports.metadata.write([putOperation(undone, version)]);
    return outcome.kind === "written" ? this.#stateOf(undone) : ((await this.get(undone.id)) ?? this.#stateOf(undone));
  }

  async #undoBatch(record: OperationRecord, version: number): Promise<OperationState> {
    const { batches } = this.#ports;
    if (record.batchId === null) return this.#stateOf(record);
    const batch = await batches.cancel(record.batchId); // What it has not done yet stays as it is.
    if (batch?.state === "running") {
      const retry = { "retry-after": "5" }; // What it still changes would not be undone.
      throw new RouteError(503, `The batch '${record.batchId}' has not stopped yet.`, undefined, retry);
    }
    const isRestart = record.verb === "restart-as-new";
    const { ids, notes } = isRestart ? await this.#startedBy(record.batchId) : await this.#changedBy(record.batchId, record.verb);
    const startedAtMs = this.#ports.clock.nowMs();
    const undoing = (batchId: BatchId | null) => ({ ...record, undo: { startedAtMs, batchId, undone: 0, failed: 0, notes } });
    if (ids.length === 0) return this.#store(undoing(null), version);
    try {
      const begun = await batches.begin({
        operation: isRestart ? "kill" : "undo",
        filter: undefined,
        ids,
        moreMatched: false,
        deployment: undefined,
        startedBy: batch?.startedBy ?? undefined,
        reason: undefined,
        undo: isRestart ? undefined : { operation: record.id, untilMs: record.untilMs },
        alongside: (batchId) => [putOperation(undoing(batchId), version)],
      });
      if (begun === undefined) {
        const retry = { "retry-after": "5" };
        throw new RouteError(429, `${BATCHES_RUNNING_MAX} batches are running already`, undefined, retry);
      }
      return this.#stateOf(undoing(begun.id));
    } catch (cause) {
      // Another request has begun it at the same time.
      const present = cause instanceof PerdureError && cause.code === "STO0003" ? await this.get(record.id) : undefined;
      if (present === undefined || present.record.undo === null) throw cause;
      return present;
    }
  }

  /** The invocations that the batch changed, and what cannot be undone of the others. */
  async #changedBy(
    batchId: BatchId,
    verb: OperationRecord["verb"],
  ): Promise<{ readonly ids: InvocationId[]; readonly notes: string[] }> {
    const ids: InvocationId[] = [];
    let notified = 0;
    for await (const { id, status, problem, isFinal } of this.#resultsOf(batchId)) {
      if (problem !== undefined) continue;
      if (verb === "cancel" && status === 202) notified++;
      else if (!isFinal) ids.push(id);
    }
    const notes = notified === 0 ? [] : [`${notified} handlers were notified of their cancellation, which is not withdrawn.`];
    return { ids, notes };
  }

  /** The copies that the batch started, and what cannot be undone of them. */
  async #startedBy(batchId: BatchId): Promise<{ readonly ids: InvocationId[]; readonly notes: string[] }> {
    const ids: InvocationId[] = [];
    for await (const { newId, problem } of this.#resultsOf(batchId))
      if (problem === undefined && newId !== undefined) ids.push(newId);
    return { ids, notes: ids.length === 0 ? [] : ["What the new invocations did before they were ended stays."] };
  }

  async *#resultsOf(batchId: BatchId): AsyncIterable<BatchResult> {
    for (let page: number | undefined = 0; page !== undefined; ) {
      const results: Awaited<ReturnType<BatchService["results"]>> = await this.#ports.batches.results(batchId, page);
      yield* results?.results ?? [];
      page = results?.next === page ? undefined : results?.next;
    }
  }

  async #stateOf(record: OperationRecord): Promise<OperationState> {
    const batchId = record.undo?.batchId ?? undefined;
    return { record, undoBatch: batchId === undefined ? undefined : await this.#ports.batches.get(batchId) };
  }

  #newRecord(
    { verb, subject, copyBytes, ids, startedBy, reason }: NewOperation,
    batchId: BatchId | null,
    matched: number,
  ): OperationRecord {
    const { clock, random } = this.#ports;
    const createdAtMs = clock.nowMs();
    return {
      id: newOperationId(createdAtMs, random),
      verb,
      subject: subject?.slice(0, OPERATION_SUBJECT_CHARS_MAX) ?? null,
      ids: [...ids],
      copyBytes: copyBytes ?? 0,
      batchId,
      matched,
      startedBy: startedBy ?? null,
      reason: reason ?? null,
      createdAtMs,
      untilMs: createdAtMs + this.#windowMs,
      undo: null,
    };
  }

  /** Deletes operations of former hours and those beyond the bound. Reading all of them for each change would be too much. */
  async #deleteOutdated(): Promise<void> {
    if (this.#stored++ % CLEANED_EVERY !== 0) return;
    const documents = await this.#ports.metadata.list(OPERATIONS_PREFIX);
    const outdated = outdatedOf(
      documents.flatMap((document) => operationOf(document) ?? []),
      this.#ports.clock.nowMs(),
    );
    for (let at = 0; at < outdated.length; at += DELETED_AT_ONCE) {
      const deletions = outdated.slice(at, at + DELETED_AT_ONCE).flatMap((record) => {
        const keys = [operationKey(record.id), ...(isDeletion(record) ? [deletedKey(record.id)] : [])];
        return keys.map((key) => ({ kind: "delete", key, expectedVersion: undefined }) as const);
      });
      await this.#ports.metadata.write(deletions);
    }
  }
}

/** New operations between two deletions of old ones. */
const CLEANED_EVERY = 100;
/** Operations that one write deletes: one write has a bound. */
const DELETED_AT_ONCE = 500;
/** How long an operation is listed after its time is over. */
const OVER_SHOWN_MS = 3_600_000;
/** Ids are random: one that is in use is rare, and two in a row are a defect. */
const BEGIN_ATTEMPTS_MAX = 3;

/** Beyond the bound, operations whose time is over go first, then those that are undone, then the oldest of all others. */
function outdatedOf(records: readonly OperationRecord[], nowMs: number): readonly OperationRecord[] {
  const rank = ({ untilMs, undo }: OperationRecord): number => (untilMs <= nowMs ? 2 : undo === null ? 0 : 1);
  const kept = [...records].sort((a, b) => rank(a) - rank(b) || b.createdAtMs - a.createdAtMs);
  return kept.filter(({ untilMs }, index) => untilMs + OVER_SHOWN_MS <= nowMs || index >= OPERATIONS_KEPT_MAX);
}
