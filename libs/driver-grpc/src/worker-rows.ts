/**
 * The worker's side of introspection: what is in its memory and nowhere else, as plain rows. Each worker answers for the partitions
 * that it leads at that moment, and says which those are.
 */
import { create } from "@bufbuild/protobuf";
import type { ServerWritableStream } from "@grpc/grpc-js";
import { type DeploymentId, type InvocationId, type Logger, PerdureError } from "@perdure/base";
import type { FlowLimits, FlowRows, FlowWait } from "@perdure/flow";
import type { InvokerStatus } from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";
import type { SubscriptionStatus } from "@perdure/subscription";
import { fromJson, toJson } from "./codec/json.js";
import { type RowsPage, RowsPageSchema, type RowsRequest } from "./gen/v1/partitions_pb.js";
import { ROWS_PER_PAGE } from "./limits.js";
import { streamPages } from "./pages.js";

/** A worker and the partitions that it leads, as it reports them. */
export interface WorkerStatus {
  /** As on the list of workers and in leases. */
  readonly id: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly isDraining: boolean;
  readonly leading: readonly LeadershipStatus[];
}

export interface LeadershipStatus {
  readonly partition: number;
  readonly epoch: number;
  /** Since when it has the lease. */
  readonly sinceMs: number;
  /** When the lease ends unless it is renewed; undefined until it has been read. */
  readonly leaseExpiresAtMs: number | undefined;
}

/** What a worker can tell of itself. A worker's role satisfies most of it as it is. */
export interface LiveWorker {
  /** Partitions that it leads now. */
  led(): readonly number[];
  worker(): WorkerStatus;
  status(id: InvocationId): InvokerStatus | undefined;
  statuses(): Iterable<InvokerStatus>;
  /** Queues, entries, limits and buckets of a partition that it leads; reads the store. */
  flowRows(partition: number): Promise<FlowRows>;
  /** Limits and buckets alone. */
  flowLimits(partition: number): FlowLimits;
  flowWait(id: InvocationId): FlowWait | undefined;
  /** Of those subscriptions whose topics it reads. */
  subscriptionStatuses(): readonly SubscriptionStatus[];
  /** Unfinished invocations in the partitions that it leads; reads the store. */
  countUsage(id: DeploymentId, services: readonly string[]): Promise<DeploymentUsage>;
}

type Rows = Iterable<unknown> | AsyncIterable<unknown>;

/** Partitions that were asked for and are led; all that are led when none were named. */
function* wanted(worker: LiveWorker, partitions: readonly number[] | null): Iterable<number> {
  for (const partition of worker.led()) if (partitions === null || partitions.includes(partition)) yield partition;
}

type Asked = readonly number[] | null;

/** Everything that can be asked, by name. `null` stands for an argument that was not given. */
export const WORKER_TABLES = {
  *statuses(worker: LiveWorker, ids: readonly InvocationId[] | null): Rows {
    if (ids === null) return yield* worker.statuses();
    for (const id of ids) {
      const status = worker.status(id);
      if (status !== undefined) yield status;
    }
  },
  async *queues(worker: LiveWorker, partitions: Asked): Rows {
    // Partition by partition, so that not all of them are in memory at once.
    for (const partition of wanted(worker, partitions)) yield* (await worker.flowRows(partition)).queues;
  },
  async *queueEntries(worker: LiveWorker, partitions: Asked): Rows {
    for (const partition of wanted(worker, partitions)) yield* (await worker.flowRows(partition)).entries;
  },
  *limits(worker: LiveWorker, partitions: Asked): Rows {
    for (const partition of wanted(worker, partitions)) yield* worker.flowLimits(partition).limits;
  },
  *buckets(worker: LiveWorker, partitions: Asked): Rows {
    for (const partition of wanted(worker, partitions)) yield* worker.flowLimits(partition).buckets;
  },
  *flowWaits(worker: LiveWorker, ids: readonly InvocationId[]): Rows {
    for (const id of ids) {
      const wait = worker.flowWait(id);
      if (wait !== undefined) yield wait;
    }
  },
  *worker(worker: LiveWorker): Rows {
    yield worker.worker();
  },
  subscriptions: (worker: LiveWorker): Rows => worker.subscriptionStatuses(),
  async *usage(worker: LiveWorker, id: DeploymentId, services: readonly string[]): Rows {
    yield await worker.countUsage(id, services);
  },
} as const;
export type WorkerTable = keyof typeof WORKER_TABLES;

/** The method `Rows`, for those who serve `Partitions`. */
export function rowsHandler(worker: LiveWorker, logger: Logger): (call: ServerWritableStream<RowsRequest, RowsPage>) => void {
  return (call) => streamPages(call, pagesOf(worker, call.request), logger);
}

async function* pagesOf(worker: LiveWorker, { table, arguments: body }: RowsRequest): AsyncIterable<RowsPage> {
  const read = Object.hasOwn(WORKER_TABLES, table) ? WORKER_TABLES[table as WorkerTable] : undefined;
  if (read === undefined) throw new PerdureError("OPS0003", `a worker has no table '${table}'`);
  const led = [...worker.led()];
  const rows = (read as (worker: LiveWorker, ...values: unknown[]) => Rows)(worker, ...(fromJson(body) as unknown[]));
  yield create(RowsPageSchema, { led });
  let page: unknown[] = [];
  for await (const row of rows) {
    page.push(row);
    if (page.length < ROWS_PER_PAGE) continue;
    yield create(RowsPageSchema, { rows: toJson(page) });
    page = [];
  }
  if (page.length > 0) yield create(RowsPageSchema, { rows: toJson(page) });
}
