/** `sys_node` and `sys_partition`: which worker leads which partition, and since when. */
import type { NodeRow, PartitionRow } from "@perdure/storage";
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
