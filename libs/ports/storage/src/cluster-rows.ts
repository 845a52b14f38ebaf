/** Rows of `sys_node` and `sys_partition`, which workers report and SQL returns. */

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
