export { connectRedis, type RedisConnections, type RedisPorts } from "./connect.js";
export { RedisLeases, type RedisLeasesOptions } from "./leases.js";
export { RedisMembership, type RedisMembershipOptions } from "./membership.js";
export type { RedisNode, RedisOptions } from "./options.js";
export { agreedPartitionCount } from "./partition-count.js";
export { RedisPartitionStore, type RedisPartitionStoreOptions } from "./redis-partition-store.js";
export { RedisSnapshot } from "./redis-snapshot.js";
