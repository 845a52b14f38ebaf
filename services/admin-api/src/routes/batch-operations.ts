/**
 * Routes of batch operations: one request cancels, kills, purges, pauses, resumes or restarts many invocations, chosen by a condition. It
 * is answered as soon as the choice is stored; progress and outcomes are read with later requests.
 */
import { BATCH_MATCHED_MAX, cancelBatch, getBatch, getBatchResults, listBatches, startBatch } from "@perdure/admin-contract";
import { StartBatch } from "@perdure/admin-contract/requests";
import { type BatchId, type InvocationId, parseBatchId } from "@perdure/base";
import type { z } from "zod";
import { type BatchSelection, preview, select } from "../batches/selection.js";
import { type ApiAnswer, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRequest, badQuery } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import { BATCH_SAMPLE_MAX, BATCHES_RUNNING_MAX } from "../limits.js";
import { isUndoable, startedBy } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";
import { batchView, resultView } from "../views/batch-view.js";

export function batchOperationRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const { batches } = ports;
  return [
    route(startBatch, {
      summary: "Apply one operation to many invocations, chosen by a condition over `sys_invocation` or by ids",
      body: StartBatch,
      answers: {
        200: "Dry run: number of matching invocations, and the first of them",
        202: "Started; `location` is the address of its progress",
        400: "Invalid condition",
        429: "Too many batches are running",
      },
      handle: (request) => start(ports, request),
    }),
    route(listBatches, {
      summary: "Batches, the newest first",
      answers: { 200: "Running batches, and those that finished within a day" },
      handle: async () => json(200, { batches: (await batches.list()).map(batchView) }),
    }),
    route(getBatch, {
      summary: "Progress of a batch",
      answers: { 200: "The batch", 404: "Unknown batch" },
      handle: async (request) => {
        const id = batchParam(request);
        return json(200, batchView(existingBatch(id, await batches.get(id))));
      },
    }),
    route(cancelBatch, {
      summary: "Cancel a batch; what it has done stays done",
      answers: { 200: "The batch as it ended", 404: "Unknown batch" },
      handle: async (request) => {
        const id = batchParam(request);
        return json(200, batchView(existingBatch(id, await batches.cancel(id))));
      },
    }),
    route(getBatchResults, {
      summary: "Outcome of each invocation of a batch",
      answers: {
        200: "Some results; without `next_cursor` these were the last, and while the batch runs the same cursor gives more later",
        404: "Unknown batch",
      },
      handle: async (request) => {
        const id = batchParam(request);
        const page = existingBatch(id, await batches.results(id, cursorQuery(request)));
        return json(200, {
          results: page.results.map(resultView),
          next_cursor: page.next === undefined ? null : String(page.next),
        });
      },
    }),
  ];
}

type StartRequest = z.infer<typeof StartBatch>;

async function start(ports: AdminPorts, request: ApiRequest): Promise<ApiAnswer> {
  const body = await request.json(StartBatch);
  const limit = body.limit ?? BATCH_MATCHED_MAX;
  if (body.dry_run === true) return json(200, await dryRun(ports, body, limit, request.signal));
  const { ids, more } = await selectionOf(ports, body, limit, request.signal);
  const by = startedBy(request);
  const named = { verb: body.operation, ids: [], startedBy: by, reason: body.reason ?? undefined };
  const { verb } = named;
  const undoable = isUndoable(verb) ? await ports.operations?.forBatch({ ...named, verb }, ids.length) : undefined;
  const record = await ports.batches.begin({
    ...undoable,
    operation: body.operation,
    filter: body.filter ?? undefined,
    ids,
    moreMatched: more,
    deployment: body.deployment ?? undefined,
    startedBy: by,
    reason: body.reason ?? undefined,
  });
  if (record === undefined) {
    throw new RouteError(429, `${BATCHES_RUNNING_MAX} batches are running already`, undefined, { "retry-after": "5" });
  }
  return json(202, batchView(record), { location: `invocations/batches/${record.id}` });
}

async function selectionOf(ports: AdminPorts, body: StartRequest, limit: number, signal: AbortSignal): Promise<BatchSelection> {
  if (body.filter !== undefined && body.filter !== null) return select(ports.sql, body.filter, limit, signal);
  const ids = distinct(body.ids ?? []);
  return { ids: ids.slice(0, limit), more: ids.length > limit };
}

/** Evaluates a batch. Nothing is stored and no invocation changes. */
async function dryRun(ports: AdminPorts, body: StartRequest, limit: number, signal: AbortSignal): Promise<object> {
  if (body.filter !== undefined && body.filter !== null) {
    const { matched, more, sample } = await preview(ports.sql, body.filter, limit, signal);
    return { operation: body.operation, dry_run: true, matched, more_matched: more, sample };
  }
  const ids = distinct(body.ids ?? []);
  const sample = ids.slice(0, Math.min(limit, BATCH_SAMPLE_MAX)).map((id) => ({ id }));
  return {
    operation: body.operation,
    dry_run: true,
    matched: Math.min(ids.length, limit),
    more_matched: ids.length > limit,
    sample,
  };
}

function distinct(ids: readonly InvocationId[]): readonly InvocationId[] {
  return [...new Set(ids)];
}

function batchParam(request: ApiRequest): BatchId {
  const parsed = parseBatchId(request.param("batch_id"));
  if (parsed.ok) return parsed.value;
  throw new RouteError(400, `The request field 'batch_id' is invalid. Reason: ${parsed.problem}`);
}

function cursorQuery(request: ApiRequest): number {
  const text = request.query.get("cursor");
  if (text === null) return 0;
  if (!/^\d{1,9}$/.test(text)) throw badQuery("cursor: not one that this interface gave");
  return Number(text);
}

function existingBatch<T>(id: BatchId, value: T | undefined): T {
  if (value === undefined) throw new RouteError(404, `The requested batch '${id}' does not exist`);
  return value;
}
