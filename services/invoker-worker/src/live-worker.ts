/** The state of a worker role that other threads of its process may read, as other processes of a cluster read that of a worker. */
import { type Clock, present } from "@perdure/base";
import type { LiveWorker } from "@perdure/grpc";
import { VERSION } from "@perdure/telemetry/version";
import type { InvokerWorker } from "./role.js";

interface LiveWorkerParts {
  readonly worker: InvokerWorker;
  /** Name of the node or thread. */
  readonly id: string;
  /** Time at which the worker began to lead. */
  readonly sinceMs: number;
  /** Progress of the subscriptions whose topics are read beside the worker. */
  readonly subscriptionStatuses: LiveWorker["subscriptionStatuses"];
  readonly clock: Clock;
}

export function liveWorkerOf({ worker, id, sinceMs, subscriptionStatuses, clock }: LiveWorkerParts): LiveWorker {
  const leadershipOf = (partition: number) => {
    const epoch = present(worker.epochOf(partition));
    return { partition, epoch, sinceMs, leaseExpiresAtMs: undefined };
  };
  return {
    leaderPartitions: worker.leaderPartitions,
    worker: () => ({
      id,
      version: VERSION,
      startedAtMs: Math.round(performance.timeOrigin),
      isDraining: false,
      leading: worker.leaderPartitions().map(leadershipOf),
    }),
    traffic() {
      const { traffic } = worker.counters;
      return { node: id, sinceMs: traffic.isComplete ? sinceMs : undefined, counts: traffic.counts(clock.nowMs()) };
    },
    status: worker.status,
    statuses: worker.statuses,
    flowRows: worker.flowRows,
    flowLimits: worker.flowLimits,
    flowWait: worker.flowWait,
    subscriptionStatuses,
    countUsage: worker.countUsage,
  };
}
