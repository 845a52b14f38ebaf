/** `sys_node`, `sys_partition` and `sys_traffic` for one process that leads everything, with the same columns as in a cluster. */

import type { Clock } from "@perdure/base";
import { type ClusterPort, trafficRowsOf } from "@perdure/introspection";
import type { InvokerWorker } from "@perdure/invoker-worker";
import type { PartitionRow } from "@perdure/storage";
import { VERSION } from "@perdure/telemetry/version";

/** `sinceMs`: when the process began to lead. */
export function clusterOfOne(
  id: string,
  worker: Pick<InvokerWorker, "epochOf" | "counters">,
  partitionCount: number,
  sinceMs: number,
  clock: Clock,
): ClusterPort {
  const rowOf = (partition: number): PartitionRow => {
    const epoch = worker.epochOf(partition);
    const isLeader = epoch !== undefined;
    return {
      partition,
      status: isLeader ? "leading" : "no_leader",
      leader: isLeader ? id : undefined,
      leaderAddress: undefined,
      epoch,
      leaderSinceMs: isLeader ? sinceMs : undefined,
      leaseExpiresAtMs: undefined,
    };
  };
  const rows = () => Array.from({ length: partitionCount }, (_, partition) => rowOf(partition));
  return {
    nodes: () => [
      {
        id,
        address: undefined,
        version: VERSION,
        status: "alive",
        startedAtMs: Math.round(performance.timeOrigin),
        leadingCount: rows().filter(({ status }) => status === "leading").length,
      },
    ],
    partitions: rows,
    traffic() {
      const { traffic } = worker.counters;
      return trafficRowsOf({
        node: id,
        sinceMs: traffic.isComplete ? sinceMs : undefined,
        counts: traffic.counts(clock.nowMs()),
      });
    },
  };
}
