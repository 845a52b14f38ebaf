/**
 * Rows that only workers in other processes hold, read from all workers or from the leader of one partition. A worker that cannot be
 * reached contributes no rows; only `countUsage` requires an answer for every partition.
 */

import { create } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import {
  backoffMs,
  type Clock,
  type DeploymentId,
  type InvocationId,
  type Logger,
  PerdureError,
  partitionOf,
  type Random,
} from "@perdure/base";
import type { FlowBucketRow, FlowEntryRow, FlowLimitRow, FlowQueueRow, FlowWait } from "@perdure/flow-control";
import type { InvokerStatus } from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";
import type { NodeRow, PartitionRow, TrafficCount } from "@perdure/storage";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import type { Channel } from "./channel.js";
import { given, required } from "./codec/checks.js";
import type { LeadershipStatus, WorkerStatus } from "./codec/workers.js";
import * as codec from "./codec/workers.js";
import { partitionsDefinition } from "./definitions.js";
import * as proto from "./gen/v1/workers_pb.js";
import type { LeaderDirectory } from "./leadership.js";
import { COUNT_AGAIN_BOUNDS, COUNT_TRIES_MAX, ROWS_DEADLINE_MS } from "./limits.js";
import { type PagesOptions, readPages } from "./pages.js";
import { isUnimplemented } from "./status.js";
import { callUnary } from "./unary.js";
import { type RowsV01, readRowsV01, type WorkerTable } from "./v01/worker-rows.js";

interface RemoteRowsPorts {
  readonly directory: LeaderDirectory;
  /** The channel to a worker; it stays the caller's. */
  readonly channel: (address: string) => Channel;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

type PartitionNumbers = readonly number[] | undefined;

/** A table of rows as a call of this release, and as v0.1 requested it. */
interface RemoteTable<In, Out, Table extends WorkerTable> {
  readonly method: MethodDefinition<In, Out>;
  readonly request: In;
  readonly rowsOf: (page: Out) => readonly RowsV01[Table][];
  readonly v01: readonly [Table, ...unknown[]];
}

interface RemoteTrafficRow {
  readonly node: string;
  readonly sinceMs: number | undefined;
  readonly count: TrafficCount | undefined;
}

/** A worker on the list; `status` is undefined when it does not answer. */
interface ListedWorker {
  readonly address: string;
  readonly status: WorkerStatus | undefined;
}

export class RemoteRows {
  readonly #ports: RemoteRowsPorts;

  constructor(ports: RemoteRowsPorts) {
    this.#ports = ports;
  }

  /** Invocations that invokers hold in memory: all, or those with these ids. */
  statuses(ids: readonly InvocationId[] | undefined): AsyncIterable<InvokerStatus> {
    return this.#ofAll(attemptsTable(ids));
  }

  async status(id: InvocationId): Promise<InvokerStatus | undefined> {
    const leader = this.#leaderOf(id);
    if (leader === undefined) return undefined;
    for await (const status of this.#of(leader, attemptsTable([id]))) return status;
    return undefined;
  }

  /** The flow-control state of an invocation that waits for a slot; undefined when it does not wait for one. */
  async flowWait(id: InvocationId): Promise<FlowWait | undefined> {
    const leader = this.#leaderOf(id);
    if (leader === undefined) return undefined;
    const request = create(proto.GetFlowWaitRequestSchema, { invocationId: id });
    const { getFlowWait: method } = partitionsDefinition;
    const waitOf = ({ wait }: proto.GetFlowWaitResponse) => wait && codec.flowWait.from(wait);
    return this.#query(leader, method, request, waitOf, async (client, options) => {
      for await (const { rows } of readRowsV01(client, "flowWaits", [[id]], options)) if (rows.length > 0) return rows[0];
      return undefined;
    });
  }

  /** Rows of these partitions, of all when undefined; the same for the next three methods. */
  queues(partitions: PartitionNumbers): AsyncIterable<FlowQueueRow> {
    return this.#ofAll({
      method: partitionsDefinition.listQueues,
      request: create(proto.ListQueuesRequestSchema, selectionOf(partitions)),
      rowsOf: ({ queues }) => queues.map(codec.queue.from),
      v01: ["queues", partitions],
    });
  }

  queueEntries(partitions: PartitionNumbers): AsyncIterable<FlowEntryRow> {
    return this.#ofAll({
      method: partitionsDefinition.listQueueEntries,
      request: create(proto.ListQueueEntriesRequestSchema, selectionOf(partitions)),
      rowsOf: ({ entries }) => entries.map(codec.queueEntry.from),
      v01: ["queueEntries", partitions],
    });
  }

  limits(partitions: PartitionNumbers): AsyncIterable<FlowLimitRow> {
    return this.#ofAll({
      method: partitionsDefinition.listLimits,
      request: create(proto.ListLimitsRequestSchema, selectionOf(partitions)),
      rowsOf: ({ limits }) => limits.map(codec.limit.from),
      v01: ["limits", partitions],
    });
  }

  buckets(partitions: PartitionNumbers): AsyncIterable<FlowBucketRow> {
    return this.#ofAll({
      method: partitionsDefinition.listBuckets,
      request: create(proto.ListBucketsRequestSchema, selectionOf(partitions)),
      rowsOf: ({ buckets }) => buckets.map(codec.bucket.from),
      v01: ["buckets", partitions],
    });
  }

  /** All workers on the list. */
  async *nodes(): AsyncIterable<NodeRow> {
    for (const { address, status } of await this.#workers()) {
      yield {
        id: status?.id,
        address,
        version: status?.version,
        status: status === undefined ? "unreachable" : status.isDraining ? "draining" : "alive",
        startedAtMs: status?.startedAtMs,
        leadingCount: status?.leading.length,
      };
    }
  }

  /** All partitions. A worker's own report wins over the published claims; of two reports the one with the higher epoch wins. */
  async *partitions(): AsyncIterable<PartitionRow> {
    const { directory } = this.#ports;
    const workers = await this.#workers();
    const confirmed = new Map<number, LeadershipStatus & { readonly leader: string | undefined; readonly address: string }>();
    for (const { address, status } of workers) {
      for (const leadership of status?.leading ?? []) {
        if ((confirmed.get(leadership.partition)?.epoch ?? -1) < leadership.epoch)
          confirmed.set(leadership.partition, { ...leadership, leader: status?.id, address });
      }
    }
    for (let partition = 0; partition < directory.partitionCount; partition++) {
      const leadership = confirmed.get(partition);
      const claim = directory.leaderOf(partition);
      const claimant = leadership === undefined ? workers.find(({ address }) => address === claim?.address) : undefined;
      yield {
        partition,
        status: leadership !== undefined ? "leading" : claimant === undefined ? "no_leader" : "unknown",
        leader: leadership?.leader ?? claimant?.status?.id,
        leaderAddress: leadership?.address ?? claimant?.address,
        epoch: leadership?.epoch ?? claim?.epoch,
        leaderSinceMs: leadership?.sinceMs,
        leaseExpiresAtMs: leadership?.leaseExpiresAtMs,
      };
    }
  }

  /**
   * Returns the listed workers in the order of the list. They are requested in parallel, because a frozen one does not answer for seconds.
   */
  async #workers(): Promise<readonly ListedWorker[]> {
    return await Promise.all(
      this.#ports.directory.workers.map(async (address) => ({ address, status: await this.#workerAt(address) })),
    );
  }

  #workerAt(address: string): Promise<WorkerStatus | undefined> {
    const workerOf = ({ worker }: proto.GetWorkerResponse) => codec.worker.from(required(worker, "a worker"));
    const { getWorker: method } = partitionsDefinition;
    return this.#query(address, method, create(proto.GetWorkerRequestSchema), workerOf, async (client, options) => {
      for await (const { rows } of readRowsV01(client, "worker", [], options)) if (rows.length > 0) return rows[0];
      return undefined;
    });
  }

  /** Returns the progress of each worker with the subscriptions that it reads. */
  async subscriptionStatuses(): Promise<readonly SubscriptionStatus[]> {
    const statuses: SubscriptionStatus[] = [];
    const table = {
      method: partitionsDefinition.listSubscriptionStatuses,
      request: create(proto.ListSubscriptionStatusesRequestSchema),
      rowsOf: ({ subscriptions }: proto.ListSubscriptionStatusesResponse) => subscriptions.map(codec.subscriptionStatus.from),
      v01: ["subscriptions"],
    } as const;
    for await (const status of this.#ofAll(table)) statuses.push(status);
    return statuses;
  }

  /** Counters of each worker that answers; the first row of a worker has no count. A worker of v0.1 has none. */
  async *traffic(): AsyncIterable<RemoteTrafficRow> {
    const { directory, channel } = this.#ports;
    for (const address of directory.workers) {
      const options = { deadlineMs: ROWS_DEADLINE_MS, callee: `the worker at ${address}` };
      const request = create(proto.ListTrafficRequestSchema);
      try {
        for await (const page of readPages(channel(address), partitionsDefinition.listTraffic, request, options)) {
          const worker = {
            node: page.node,
            sinceMs: page.countedSinceMs === undefined ? undefined : Number(page.countedSinceMs),
          };
          if (page.counts.length === 0) yield { ...worker, count: undefined };
          for (const count of page.counts) yield { ...worker, count: codec.trafficCount.from(count) };
        }
      } catch (cause) {
        if (!(cause instanceof Error && isUnimplemented(cause.cause))) this.#unreachable(address, cause);
      }
    }
  }

  /** Counts in all partitions. Rejects with OPS0004 when a partition has no leader that answers within the retries. */
  async countUsage(id: DeploymentId, services: readonly string[]): Promise<DeploymentUsage> {
    const { clock, random } = this.#ports;
    for (let tries = 1; ; tries++) {
      const counted = await this.#countOnce(id, services);
      if (counted !== undefined) return counted;
      if (tries >= COUNT_TRIES_MAX)
        throw new PerdureError("OPS0004", "the invocations cannot be counted while some partitions have no worker");
      await new Promise<void>((resolve) => void clock.setTimer(backoffMs(0, COUNT_AGAIN_BOUNDS, random), resolve));
    }
  }

  /** Undefined when a partition was not counted, or twice: it moved meanwhile. */
  async #countOnce(id: DeploymentId, services: readonly string[]): Promise<DeploymentUsage | undefined> {
    const { directory } = this.#ports;
    const counts = new Map<string, number>();
    const countedPartitions = new Set<number>();
    let countedTotal = 0;
    let pinned = 0;
    for (const address of directory.workers) {
      const counted = await this.#usageAt(address, id, services);
      if (counted === undefined) continue;
      countedTotal += counted.partitions.length;
      for (const partition of counted.partitions) countedPartitions.add(partition);
      pinned += counted.usage.pinned;
      for (const [service, count] of counted.usage.unfinishedByService) counts.set(service, (counts.get(service) ?? 0) + count);
    }
    const isWhole =
      directory.partitionCount > 0 && countedTotal === directory.partitionCount && countedPartitions.size === countedTotal;
    return isWhole ? { pinned, unfinishedByService: counts } : undefined;
  }

  #usageAt(address: string, deploymentId: DeploymentId, services: readonly string[]): Promise<CountedUsage | undefined> {
    const request = create(proto.CountUsageRequestSchema, { deploymentId, services: [...services] });
    const { countUsage: method } = partitionsDefinition;
    const countedOf = (counted: proto.CountUsageResponse) => ({
      partitions: counted.partitions,
      usage: codec.usage.from(counted),
    });
    return this.#query(address, method, request, countedOf, async (client, options) => {
      let partitions: readonly number[] = [];
      for await (const page of readRowsV01(client, "usage", [deploymentId, services], options)) {
        partitions = [...partitions, ...page.leaderPartitions];
        const [usage] = page.rows;
        if (usage !== undefined) return { partitions, usage };
      }
      return undefined;
    });
  }

  #leaderOf(id: InvocationId): string | undefined {
    const { directory } = this.#ports;
    return directory.partitionCount === 0 ? undefined : directory.leaderOf(partitionOf(id, directory.partitionCount))?.address;
  }

  async *#ofAll<In, Out, Table extends WorkerTable>(table: RemoteTable<In, Out, Table>): AsyncIterable<RowsV01[Table]> {
    for (const address of this.#ports.directory.workers) yield* this.#of(address, table);
  }

  /** A worker that cannot be reached ends its rows early. A worker of v0.1 gets the request in the form of v0.1. */
  async *#of<In, Out, Table extends WorkerTable>(
    address: string,
    { method, request, rowsOf, v01 }: RemoteTable<In, Out, Table>,
  ): AsyncIterable<RowsV01[Table]> {
    const client = this.#ports.channel(address);
    const options = { deadlineMs: ROWS_DEADLINE_MS, callee: `the worker at ${address}` };
    try {
      for await (const page of readPages(client, method, request, options)) yield* rowsOf(page);
    } catch (cause) {
      if (!(cause instanceof Error && isUnimplemented(cause.cause))) return this.#unreachable(address, cause);
      const [table, ...values] = v01;
      try {
        for await (const { rows } of readRowsV01(client, table, values, options)) yield* rows;
      } catch (second) {
        this.#unreachable(address, second);
      }
    }
  }

  /** Undefined when the worker cannot be reached. A worker of v0.1 gets the request in the form of v0.1. */
  async #query<In, Out, Result>(
    address: string,
    method: MethodDefinition<In, Out>,
    request: In,
    resultOf: (response: Out) => Result,
    queryV01: (client: Channel, options: PagesOptions) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const client = this.#ports.channel(address);
    const options = { deadlineMs: ROWS_DEADLINE_MS, callee: `the worker at ${address}` };
    try {
      return resultOf(await callUnary(client, method, request, options));
    } catch (cause) {
      if (!(cause instanceof Error && isUnimplemented(cause.cause))) return this.#unreachable(address, cause);
    }
    return queryV01(client, options).catch((cause: unknown) => this.#unreachable(address, cause));
  }

  /** Logs that a worker did not report and returns undefined. Its partitions may have moved while the request was under way. */
  #unreachable(address: string, cause: unknown): undefined {
    if (!(cause instanceof PerdureError)) throw cause;
    this.#ports.logger.warn({ worker: address, reason: cause.detail }, "a worker did not report its status");
  }
}

/** The counts of one worker, and their partitions. */
interface CountedUsage {
  readonly partitions: readonly number[];
  readonly usage: DeploymentUsage;
}

function attemptsTable(
  ids: readonly InvocationId[] | undefined,
): RemoteTable<proto.ListAttemptsRequest, proto.ListAttemptsResponse, "statuses"> {
  return {
    method: partitionsDefinition.listAttempts,
    request: create(proto.ListAttemptsRequestSchema, given("ids", ids && { ids: [...ids] })),
    rowsOf: ({ attempts }) => attempts.map(codec.attempt.from),
    v01: ["statuses", ids],
  };
}

function selectionOf(partitions: PartitionNumbers): { readonly selection?: { partitions: number[] } } {
  return given("selection", partitions && { partitions: [...partitions] });
}
