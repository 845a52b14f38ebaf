/**
 * Why: the entry point of the thread that runs SQL statements in a cluster, with the drivers it needs and nothing else of the process.
 * It is bundled beside `main.mjs` and started by `@perdure/sql` when the first statement comes.
 */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { invariant, silentLogger, systemClock } from "@perdure/base";
import { latePostgresArchive } from "@perdure/driver-postgres";
import { connectRedis, RedisPartitionStore, RedisSnapshot } from "@perdure/driver-redis";
import type { SourceDescription } from "@perdure/sql";
import { type OpenStore, runSqlThread, type ThreadData } from "@perdure/sql/thread";
import { ArchivedSnapshot } from "@perdure/store";
import { SQL_THREAD_NICENESS } from "./limits.js";
import { whereOf } from "./process/where-text.js";

async function openStore({ store }: SourceDescription): Promise<OpenStore> {
  invariant(store.kind === "redis", "a cluster keeps its partitions in Redis");
  const { environment, redis, postgresUrl } = whereOf(store.options);
  // Silent: failures reach whoever asked, and the process's own connections tell of Redis and PostgreSQL in the log.
  const ports = { clock: systemClock, logger: silentLogger };
  const connections = await connectRedis(redis, ports);
  const partitions = new RedisPartitionStore(connections, { environment });
  const archive = latePostgresArchive({ url: postgresUrl, environment }, ports);
  return {
    isOneMoment: false, // Redis has no view of one moment.
    snapshot: () => new ArchivedSnapshot(new RedisSnapshot(partitions), archive, () => systemClock.nowMs()),
    async [Symbol.asyncDispose]() {
      await archive[Symbol.asyncDispose]();
      await connections[Symbol.asyncDispose]();
    },
  };
}

invariant(parentPort !== null, "this module is started as a thread");
// On Linux this concerns the calling thread only. Elsewhere it would slow the whole process down.
if (process.platform === "linux") setPriority(0, SQL_THREAD_NICENESS);
await runSqlThread({ port: parentPort, data: workerData as ThreadData, openStore });
