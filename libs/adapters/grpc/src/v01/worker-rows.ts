/** Requests to workers for rows in the form of v0.1: the name of a table, its arguments and its rows as JSON. To be removed in v0.3. */
import { create } from "@bufbuild/protobuf";
import type { Client, ServerWritableStream } from "@grpc/grpc-js";
import { type DeploymentId, type InvocationId, type Logger, PerdureError } from "@perdure/base";
import { fromJson, toJson } from "../codec/json.js";
import { partitionsDefinition } from "../definitions.js";
import { type RowsPage, RowsPageSchema, type RowsRequest, RowsRequestSchema } from "../gen/v1/partitions_pb.js";
import { ROWS_PER_PAGE } from "../limits.js";
import { type LiveWorker, selected } from "../live-worker.js";
import { type PagesOptions, readPages, streamPages } from "../pages.js";

type RowSourceV01 = Iterable<unknown> | AsyncIterable<unknown>;

type PartitionSelection = readonly number[] | null;

/** All tables, by name. `null` stands for an argument that was not given. */
const WORKER_TABLES = {
  *statuses(worker: LiveWorker, ids: readonly InvocationId[] | null): RowSourceV01 {
    if (ids === null) return yield* worker.statuses();
    for (const id of ids) {
      const status = worker.status(id);
      if (status !== undefined) yield status;
    }
  },
  async *queues(worker: LiveWorker, partitions: PartitionSelection): RowSourceV01 {
    // Partition by partition, so that not all of them are in memory at once.
    for (const partition of selected(worker, partitions ?? undefined)) yield* (await worker.flowRows(partition)).queues;
  },
  async *queueEntries(worker: LiveWorker, partitions: PartitionSelection): RowSourceV01 {
    for (const partition of selected(worker, partitions ?? undefined)) yield* (await worker.flowRows(partition)).entries;
  },
  *limits(worker: LiveWorker, partitions: PartitionSelection): RowSourceV01 {
    for (const partition of selected(worker, partitions ?? undefined)) yield* worker.flowLimits(partition).limits;
  },
  *buckets(worker: LiveWorker, partitions: PartitionSelection): RowSourceV01 {
    for (const partition of selected(worker, partitions ?? undefined)) yield* worker.flowLimits(partition).buckets;
  },
  *flowWaits(worker: LiveWorker, ids: readonly InvocationId[]): RowSourceV01 {
    for (const id of ids) {
      const wait = worker.flowWait(id);
      if (wait !== undefined) yield wait;
    }
  },
  *worker(worker: LiveWorker): RowSourceV01 {
    yield worker.worker();
  },
  subscriptions: (worker: LiveWorker): RowSourceV01 => worker.subscriptionStatuses(),
  async *usage(worker: LiveWorker, id: DeploymentId, services: readonly string[]): RowSourceV01 {
    yield await worker.countUsage(id, services);
  },
} as const;
export type WorkerTable = keyof typeof WORKER_TABLES;

/** The method `Rows` of the service `Partitions`. */
export function rowsHandlerV01(worker: LiveWorker, logger: Logger): (call: ServerWritableStream<RowsRequest, RowsPage>) => void {
  return (call) => streamPages(call, pagesOf(worker, call.request), logger);
}

async function* pagesOf(worker: LiveWorker, { table, arguments: body }: RowsRequest): AsyncIterable<RowsPage> {
  const read = Object.hasOwn(WORKER_TABLES, table) ? WORKER_TABLES[table as WorkerTable] : undefined;
  if (read === undefined) throw new PerdureError("OPS0003", `a worker has no table '${table}'`);
  const leaderPartitions = [...worker.leaderPartitions()];
  const rows = (read as (worker: LiveWorker, ...values: unknown[]) => RowSourceV01)(worker, ...(fromJson(body) as unknown[]));
  yield create(RowsPageSchema, { led: leaderPartitions });
  let page: unknown[] = [];
  for await (const row of rows) {
    page.push(row);
    if (page.length < ROWS_PER_PAGE) continue;
    yield create(RowsPageSchema, { rows: toJson(page) });
    page = [];
  }
  if (page.length > 0) yield create(RowsPageSchema, { rows: toJson(page) });
}

/** One worker's answer, page by page. */
interface PageV01 {
  /** Partitions that the worker leads; set on the first page. */
  readonly leaderPartitions: readonly number[];
  readonly rows: readonly unknown[];
}

export async function* readRowsV01(
  client: Client,
  table: WorkerTable,
  values: readonly unknown[],
  options: PagesOptions,
): AsyncIterable<PageV01> {
  const request = create(RowsRequestSchema, { table, arguments: toJson(values.map((value) => value ?? null)) });
  for await (const page of readPages(client, partitionsDefinition.rows, request, options)) {
    yield { leaderPartitions: page.led, rows: page.rows.length === 0 ? [] : (fromJson(page.rows) as readonly unknown[]) };
  }
}
