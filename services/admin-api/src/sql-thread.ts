/**
 * Why: the entry point of the thread that runs SQL statements in a cluster, with the drivers it needs and nothing else of the process.
 * It is bundled beside `main.mjs` and started by `@perdure/sql` when the first statement comes.
 */
import { parentPort, workerData } from "node:worker_threads";
import { invariant, silentLogger, systemClock } from "@perdure/base";
import { connectRedis, RedisPartitionStore, RedisSnapshot } from "@perdure/driver-redis";
import type { SourceDescription } from "@perdure/sql";
import { type OpenStore, runSqlThread, type ThreadData } from "@perdure/sql/thread";
import { redisOf } from "./process/redis-text.js";

async function openStore({ store }: SourceDescription): Promise<OpenStore> {
  invariant(store.kind === "redis", "a cluster keeps its partitions in Redis");
  const { environment, redis } = redisOf(store.options);
  // Silent: failures reach whoever asked, and the process's own connections tell of Redis in the log.
  const connections = await connectRedis(redis, { clock: systemClock, logger: silentLogger });
  const partitions = new RedisPartitionStore(connections, { environment });
  return {
    snapshot: () => new RedisSnapshot(partitions),
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

invariant(parentPort !== null, "this module is started as a thread");
await runSqlThread({ port: parentPort, data: workerData as ThreadData, openStore });
