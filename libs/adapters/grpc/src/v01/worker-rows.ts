/** Requests to workers for rows in the form of v0.1: the name of a table, its arguments and its rows as JSON. To be removed in v0.3. */

import { create } from "@bufbuild/protobuf";
import type { ServerWritableStream } from "@grpc/grpc-js";
import { type Logger, PerdureError } from "@perdure/base";
import type { FlowBucketRow, FlowEntryRow, FlowLimitRow, FlowQueueRow, FlowWait } from "@perdure/flow-control";
import type { InvokerStatus } from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import type { Channel } from "../channel.js";
import { checkedDeploymentId } from "../codec/deployment.js";
import { fromJson, toJson } from "../codec/json.js";
import { checkedInvocationId } from "../codec/schedules.js";
import * as codec from "../codec/workers.js";
import { partitionsDefinition } from "../definitions.js";
import { type RowsPage, RowsPageSchema, type RowsRequest, RowsRequestSchema } from "../gen/v1/partitions_pb.js";
import * as proto from "../gen/v1/workers_pb.js";
import { ROWS_PER_PAGE } from "../limits.js";
import { type LiveWorker, selected } from "../live-worker.js";
import { type PagesOptions, readPages, streamPages } from "../pages.js";
import { argumentsV01, checkedV01, listV01, numberV01, optionalV01, textV01 } from "./checked.js";

/** The row of each table. */
export interface RowsV01 {
  readonly statuses: InvokerStatus;
  readonly queues: FlowQueueRow;
  readonly queueEntries: FlowEntryRow;
  readonly limits: FlowLimitRow;
  readonly buckets: FlowBucketRow;
  readonly flowWaits: FlowWait;
  readonly worker: codec.WorkerStatus;
  readonly subscriptions: SubscriptionStatus;
  readonly usage: DeploymentUsage;
}
export type WorkerTable = keyof RowsV01;

type RowSourceV01 = Iterable<unknown> | AsyncIterable<unknown>;

const idsOf = (value: unknown) =>
  listV01(value, "a list of invocations").map((id) => checkedInvocationId(textV01(id, "an invocation id")));
/** Undefined: all partitions. */
const partitionsOf = (value: unknown) =>
  optionalV01(value, "a list of partitions", (numbers, what) => listV01(numbers, what).map((each) => numberV01(each, what)));

/** All tables, by name, with their arguments as they came. */
const WORKER_TABLES: {
  readonly [Table in WorkerTable]: (worker: LiveWorker, first: unknown, second: unknown) => RowSourceV01;
} = {
  *statuses(worker, ids) {
    if (ids === undefined) return yield* worker.statuses();
    for (const id of idsOf(ids)) {
      const status = worker.status(id);
      if (status !== undefined) yield status;
    }
  },
  async *queues(worker, partitions) {
    // Partition by partition, so that not all of them are in memory at once.
    for (const partition of selected(worker, partitionsOf(partitions))) yield* (await worker.flowRows(partition)).queues;
  },
  async *queueEntries(worker, partitions) {
    for (const partition of selected(worker, partitionsOf(partitions))) yield* (await worker.flowRows(partition)).entries;
  },
  *limits(worker, partitions) {
    for (const partition of selected(worker, partitionsOf(partitions))) yield* worker.flowLimits(partition).limits;
  },
  *buckets(worker, partitions) {
    for (const partition of selected(worker, partitionsOf(partitions))) yield* worker.flowLimits(partition).buckets;
  },
  *flowWaits(worker, ids) {
    for (const id of idsOf(ids)) {
      const wait = worker.flowWait(id);
      if (wait !== undefined) yield wait;
    }
  },
  *worker(worker) {
    yield worker.worker();
  },
  subscriptions: (worker) => worker.subscriptionStatuses(),
  async *usage(worker, id, services) {
    const names = listV01(services, "a list of services").map((name) => textV01(name, "the name of a service"));
    yield await worker.countUsage(checkedDeploymentId(textV01(id, "the id of a deployment")), names);
  },
};

const ROW_READERS: { readonly [Table in WorkerTable]: (row: unknown) => RowsV01[Table] } = {
  statuses: (row) => checkedV01(proto.AttemptStatusSchema, codec.attempt, row, "an attempt"),
  queues: (row) => checkedV01(proto.FlowQueueSchema, codec.queue, row, "a queue"),
  queueEntries: (row) => checkedV01(proto.FlowEntrySchema, codec.queueEntry, row, "an entry of a queue"),
  limits: (row) => checkedV01(proto.FlowLimitSchema, codec.limit, row, "a limit"),
  buckets: (row) => checkedV01(proto.FlowBucketSchema, codec.bucket, row, "a bucket"),
  flowWaits: (row) => checkedV01(proto.FlowWaitSchema, codec.flowWait, row, "a wait"),
  worker: (row) => checkedV01(proto.WorkerStatusSchema, codec.worker, row, "a worker"),
  subscriptions: (row) => checkedV01(proto.SubscriptionStatusSchema, codec.subscriptionStatus, row, "a subscription"),
  usage: (row) => checkedV01(proto.CountUsageResponseSchema, codec.usage, row, "counts of invocations"),
};

/** The method `Rows` of the service `Partitions`. */
export function rowsHandlerV01(worker: LiveWorker, logger: Logger): (call: ServerWritableStream<RowsRequest, RowsPage>) => void {
  return (call) => streamPages(call, pagesOf(worker, call.request), logger);
}

async function* pagesOf(worker: LiveWorker, { table, arguments: body }: RowsRequest): AsyncIterable<RowsPage> {
  const isTable = (name: string): name is WorkerTable => Object.hasOwn(WORKER_TABLES, name);
  if (!isTable(table)) throw new PerdureError("OPS0003", `a worker has no table '${table}'`);
  const leaderPartitions = [...worker.leaderPartitions()];
  const [first, second] = argumentsV01(body);
  const rows = WORKER_TABLES[table](worker, first, second);
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
interface PageV01<Row> {
  /** Partitions that the worker leads; set on the first page. */
  readonly leaderPartitions: readonly number[];
  readonly rows: readonly Row[];
}

export async function* readRowsV01<Table extends WorkerTable>(
  client: Channel,
  table: Table,
  values: readonly unknown[],
  options: PagesOptions,
): AsyncIterable<PageV01<RowsV01[Table]>> {
  const request = create(RowsRequestSchema, { table, arguments: toJson(values.map((value) => value ?? null)) });
  for await (const page of readPages(client, partitionsDefinition.rows, request, options)) {
    const rows = page.rows.length === 0 ? [] : listV01(fromJson(page.rows), "a page of rows");
    yield { leaderPartitions: page.led, rows: rows.map(ROW_READERS[table]) };
  }
}
