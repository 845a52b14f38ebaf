/**
 * Entry point of the process that runs SQL statements in a cluster, with the drivers it needs and no other part of the service. It is
 * bundled beside `main.mjs`; `@perdure/introspection` starts it when a statement comes.
 */
import { invariant, silentLogger, systemClock } from "@perdure/base";
import type { SourceDescription } from "@perdure/introspection";
import { type OpenStore, runSqlProcess } from "@perdure/introspection/process";
import { deferredPostgresArchive } from "@perdure/postgres";
import { connectRedis, RedisPartitionStore, RedisSnapshot } from "@perdure/redis";
import { ArchivedSnapshot } from "@perdure/storage";
import { whereOf } from "./process/where-text.js";

async function openStore({ store }: SourceDescription): Promise<OpenStore> {
  invariant(store.kind === "redis", "a cluster keeps its partitions in Redis");
  const { environment, redis, postgresUrl } = whereOf(store.options);
  // Silent: failures reach the client, and the service's own connections log those of Redis and PostgreSQL.
  const ports = { clock: systemClock, logger: silentLogger };
  const connections = await connectRedis(redis, ports);
  const partitions = new RedisPartitionStore(connections, { environment });
  const archive = deferredPostgresArchive({ url: postgresUrl, environment }, ports);
  return {
    isOneMoment: false, // Redis has no consistent snapshot.
    snapshot: () => new ArchivedSnapshot(new RedisSnapshot(partitions), archive, () => systemClock.nowMs()),
    async [Symbol.asyncDispose]() {
      await archive[Symbol.asyncDispose]();
      await connections[Symbol.asyncDispose]();
    },
  };
}

runSqlProcess({ openStore });
