/** Implements PartitionStore and the leases of partitions on Redis and Redis Cluster. */
export { agreeOnArchiving } from "./archiving.js";
export { commitNothing } from "./commit-nothing.js";
export { connectRedis, type RedisConnections } from "./connect.js";
export {
  type ExpectedDataSet,
  type PlacedMarks,
  placeMarks,
  type ReplacedData,
  readMarks,
  storedPartitionCount,
} from "./data-set.js";
export { beginInstance } from "./instance.js";
export { RedisLeases } from "./leases.js";
export { INSTANCE_EPOCHS } from "./limits.js";
export { RedisMembership } from "./membership.js";
export type { RedisConnectionOptions, RedisNode } from "./options.js";
export { agreedPartitionCount } from "./partition-count.js";
export { probeRedis, type RedisProbe } from "./probe.js";
export { RedisPartitionStore } from "./redis-partition-store.js";
export { RedisSnapshot } from "./redis-snapshot.js";
export {
  type RedisReplication,
  type RedisRole,
  type ReplicationOptions,
  readReplication,
  setPrimary,
} from "./replication.js";
export { type RedisStatus, readRedisStatus } from "./status.js";
export { readActions } from "./usage.js";
