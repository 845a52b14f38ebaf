/**
 * Serves the in-memory state of a worker as plain rows, for introspection. Each worker answers for the partitions that it leads at that
 * moment.
 */
import { create } from "@bufbuild/protobuf";
import type { ServerWritableStream, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { InvocationId, Logger } from "@perdure/base";
import type { FlowLimits, FlowRows } from "@perdure/flow-control";
import type { InvokerStatus } from "@perdure/invoker";
import type { WorkerTraffic } from "@perdure/storage";
import { given } from "./codec/checks.js";
import { checkedDeploymentId } from "./codec/deployment.js";
import type { FieldCodec } from "./codec/form.js";
import { checkedInvocationId } from "./codec/schedules.js";
import * as codec from "./codec/workers.js";
import * as proto from "./gen/v1/workers_pb.js";
import { ROWS_PER_PAGE } from "./limits.js";
import { type LiveWorker, selected } from "./live-worker.js";
import { streamPages } from "./pages.js";
import { unaryHandler } from "./unary.js";
import { rowsHandlerV01 } from "./v01/worker-rows.js";

/** The methods of `Partitions` that return state that only this worker holds. */
export function workerHandlers(worker: LiveWorker, logger: Logger): UntypedServiceImplementation {
  const answered = <In, Out>(answerTo: (request: In) => Promise<Out>) => unaryHandler(answerTo, logger);
  const paged = <In, Row, Message, Page>(
    rowsOf: (request: In) => PagedRows<Row>,
    form: FieldCodec<Row, Message>,
    pageOf: (messages: Message[]) => Page,
  ) => {
    return (call: ServerWritableStream<In, Page>) => streamPages(call, pagesOf(rowsOf(call.request), form, pageOf), logger);
  };
  return {
    listAttempts: paged(
      ({ ids }: proto.ListAttemptsRequest) => attemptsOf(worker, ids?.ids.map(checkedInvocationId)),
      codec.attempt,
      (attempts) => create(proto.ListAttemptsResponseSchema, { attempts }),
    ),
    listQueues: paged(
      ({ selection }: proto.ListQueuesRequest) => queuesOf(worker, selection?.partitions, "queues"),
      codec.queue,
      (queues) => create(proto.ListQueuesResponseSchema, { queues }),
    ),
    listQueueEntries: paged(
      ({ selection }: proto.ListQueueEntriesRequest) => queuesOf(worker, selection?.partitions, "entries"),
      codec.queueEntry,
      (entries) => create(proto.ListQueueEntriesResponseSchema, { entries }),
    ),
    listLimits: paged(
      ({ selection }: proto.ListLimitsRequest) => limitsOf(worker, selection?.partitions, "limits"),
      codec.limit,
      (limits) => create(proto.ListLimitsResponseSchema, { limits }),
    ),
    listBuckets: paged(
      ({ selection }: proto.ListBucketsRequest) => limitsOf(worker, selection?.partitions, "buckets"),
      codec.bucket,
      (buckets) => create(proto.ListBucketsResponseSchema, { buckets }),
    ),
    getFlowWait: answered(async ({ invocationId }: proto.GetFlowWaitRequest) => {
      const wait = worker.flowWait(checkedInvocationId(invocationId));
      return create(proto.GetFlowWaitResponseSchema, given("wait", wait && codec.flowWait.to(wait)));
    }),
    getWorker: answered(async () => create(proto.GetWorkerResponseSchema, { worker: codec.worker.to(worker.worker()) })),
    listTraffic: (call: ServerWritableStream<proto.ListTrafficRequest, proto.ListTrafficResponse>) =>
      streamPages(call, trafficPages(worker.traffic()), logger),
    listSubscriptionStatuses: paged(
      () => worker.subscriptionStatuses(),
      codec.subscriptionStatus,
      (subscriptions) => create(proto.ListSubscriptionStatusesResponseSchema, { subscriptions }),
    ),
    countUsage: answered(async ({ deploymentId, services }: proto.CountUsageRequest) => {
      const partitions = [...worker.leaderPartitions()];
      const counted = await worker.countUsage(checkedDeploymentId(deploymentId), services);
      return Object.assign(codec.usage.to(counted), { partitions });
    }),
    rows: rowsHandlerV01(worker, logger),
  };
}

type PagedRows<Row> = Iterable<Row> | AsyncIterable<Row>;

async function* pagesOf<Row, Message, Page>(
  rows: PagedRows<Row>,
  form: FieldCodec<Row, Message>,
  pageOf: (messages: Message[]) => Page,
): AsyncIterable<Page> {
  let page: Message[] = [];
  for await (const row of rows) {
    page.push(form.to(row));
    if (page.length < ROWS_PER_PAGE) continue;
    yield pageOf(page);
    page = [];
  }
  if (page.length > 0) yield pageOf(page);
}

async function* trafficPages({ node, sinceMs, counts }: WorkerTraffic): AsyncIterable<proto.ListTrafficResponse> {
  const head = { node, ...given("countedSinceMs", sinceMs === undefined ? undefined : BigInt(sinceMs)) };
  yield create(proto.ListTrafficResponseSchema, head);
  yield* pagesOf(counts, codec.trafficCount, (page) => create(proto.ListTrafficResponseSchema, { ...head, counts: page }));
}

function* attemptsOf(worker: LiveWorker, ids: readonly InvocationId[] | undefined): Iterable<InvokerStatus> {
  if (ids === undefined) return yield* worker.statuses();
  for (const id of ids) {
    const status = worker.status(id);
    if (status !== undefined) yield status;
  }
}

/** Partition by partition, so that not all of them are in memory at once. */
async function* queuesOf<Kind extends "queues" | "entries">(
  worker: LiveWorker,
  partitions: readonly number[] | undefined,
  kind: Kind,
): AsyncIterable<FlowRows[Kind][number]> {
  for (const partition of selected(worker, partitions)) yield* (await worker.flowRows(partition))[kind];
}

function* limitsOf<Kind extends "limits" | "buckets">(
  worker: LiveWorker,
  partitions: readonly number[] | undefined,
  kind: Kind,
): Iterable<FlowLimits[Kind][number]> {
  for (const partition of selected(worker, partitions)) yield* worker.flowLimits(partition)[kind];
}
