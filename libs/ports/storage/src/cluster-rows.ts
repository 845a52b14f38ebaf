/** Rows of `sys_node`, `sys_partition` and `sys_traffic`, which workers report and SQL returns. */

/** `unreachable`: the node is on the list of workers and did not respond; columns that only the node can fill are undefined. */
export interface NodeRow {
  readonly id: string | undefined;
  /** `host:port` of the node's gRPC server; undefined for a single process, to which no other connects. */
  readonly address: string | undefined;
  readonly version: string | undefined;
  readonly status: "alive" | "draining" | "unreachable";
  readonly startedAtMs: number | undefined;
  /** Number of partitions that work there. */
  readonly leadingCount: number | undefined;
}

/** `unknown`: a worker has claimed the partition, and did not confirm that it leads it. */
export interface PartitionRow {
  readonly partition: number;
  readonly status: "leading" | "no_leader" | "unknown";
  /** Id and address of the node. */
  readonly leader: string | undefined;
  readonly leaderAddress: string | undefined;
  readonly epoch: number | undefined;
  /** Time since which the leader has the lease. */
  readonly leaderSinceMs: number | undefined;
  /** Time from which another worker may take the partition unless the lease is renewed; undefined where there are no leases. */
  readonly leaseExpiresAtMs: number | undefined;
}

/** Invocations of a service in one period. */
export interface TrafficCount {
  readonly periodMs: number;
  /** Since 1970. */
  readonly startsAtMs: number;
  readonly service: string;
  /** Class of the durations of those that completed, by its upper bound; undefined in rows of those that were created. */
  readonly durationMsMax: number | undefined;
  readonly created: number;
  readonly completed: number;
  /** Part of `completed`. */
  readonly failed: number;
}

/** All counts of one worker process. */
export interface WorkerTraffic {
  /** Id of the node. */
  readonly node: string;
  /** Time since which every invocation in the partitions that it leads is counted; undefined when some never are. */
  readonly sinceMs: number | undefined;
  readonly counts: Iterable<TrafficCount>;
}
