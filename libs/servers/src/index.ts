export { cacheDirectory } from "./debian.js";
export { freePorts } from "./free-port.js";
export { type KafkaOptions, KafkaServer, startKafka } from "./kafka.js";
export { type PostgresOptions, PostgresServer, startPostgres } from "./postgres.js";
export {
  type RedisCluster,
  type RedisOptions,
  RedisServer,
  type ReplicatedRedis,
  startRedis,
  startRedisCluster,
  startReplicatedRedis,
} from "./redis.js";
export { askRedis, type RedisReply } from "./redis-talk.js";
