/** The state of a worker that other processes may read. */
import type { DeploymentId, InvocationId } from "@perdure/base";
import type { FlowLimits, FlowRows, FlowWait } from "@perdure/flow-control";
import type { InvokerStatus } from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";
import type { WorkerTraffic } from "@perdure/storage";
import type { SubscriptionStatus } from "@perdure/subscriptions";
import type { WorkerStatus } from "./codec/workers.js";

/** Reads of a worker's state. The class of the worker role has most of these methods. */
export interface LiveWorker {
  /** Partitions that it leads now. */
  leaderPartitions(): readonly number[];
  worker(): WorkerStatus;
  traffic(): WorkerTraffic;
  status(id: InvocationId): InvokerStatus | undefined;
  statuses(): Iterable<InvokerStatus>;
  /** Queues, entries, limits and buckets of a partition that it leads; reads the store. */
  flowRows(partition: number): Promise<FlowRows>;
  /** Limits and buckets alone. */
  flowLimits(partition: number): FlowLimits;
  flowWait(id: InvocationId): FlowWait | undefined;
  /** Progress of the subscriptions whose topics this worker reads. */
  subscriptionStatuses(): readonly SubscriptionStatus[];
  /** Unfinished invocations in the partitions that it leads; reads the store. */
  countUsage(id: DeploymentId, services: readonly string[]): Promise<DeploymentUsage>;
}

/** Partitions that are selected and led; all that are led without a selection. */
export function* selected(worker: LiveWorker, partitions: readonly number[] | undefined): Iterable<number> {
  for (const partition of worker.leaderPartitions())
    if (partitions === undefined || partitions.includes(partition)) yield partition;
}
