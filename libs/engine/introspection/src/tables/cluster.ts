/** `sys_node`, `sys_partition` and `sys_traffic`: which worker leads which partition, and what it has counted since. */
import type { NodeRow, PartitionRow } from "@perdure/storage";
import type { TrafficRow } from "../ports.js";
import { defineTable } from "../table.js";

export const node = defineTable<NodeRow>({
  name: "sys_node",
  readers: {
    id: ({ id }) => id,
    address: ({ address }) => address,
    version: ({ version }) => version,
    status: ({ status }) => status,
    started_at: ({ startedAtMs }) => startedAtMs,
    partitions_leading: ({ leadingCount }) => leadingCount,
  },
  rows: ({ live }) => live.nodes(),
});

export const partition = defineTable<PartitionRow>({
  name: "sys_partition",
  readers: {
    id: (row) => row.partition,
    status: ({ status }) => status,
    leader: ({ leader }) => leader,
    leader_address: ({ leaderAddress }) => leaderAddress,
    epoch: ({ epoch }) => epoch,
    leader_since: ({ leaderSinceMs }) => leaderSinceMs,
    lease_expires_at: ({ leaseExpiresAtMs }) => leaseExpiresAtMs,
  },
  rows: ({ live }) => live.partitions(),
});

export const traffic = defineTable<TrafficRow>({
  name: "sys_traffic",
  readers: {
    node: ({ node }) => node,
    period: ({ count }) => count?.periodMs,
    starts_at: ({ count }) => count?.startsAtMs,
    service_name: ({ count }) => count?.service,
    duration_max: ({ count }) => count?.durationMsMax,
    created: ({ count }) => count?.created,
    completed: ({ count }) => count?.completed,
    failed: ({ count }) => count?.failed,
    counted_since: ({ sinceMs }) => sinceMs,
  },
  rows: ({ live }) => live.traffic(),
});
