/** Why: rows of a cluster are read in Redis as a worker reads them, without leading anything. */
import { silentLogger, systemClock } from "@perdure/base";
import { connectRedis, RedisPartitionStore, storedPartitionCount } from "@perdure/redis";
import { type StoredRow, storedRows } from "./stored-rows.js";

/** The default of a cluster's setting. */
export const ENVIRONMENT = "env_local";

export async function redisRows(port: number): Promise<StoredRow[]> {
  await using redis = await connectRedis({ nodes: [{ host: "127.0.0.1", port }] }, { clock: systemClock, logger: silentLogger });
  const count = await storedPartitionCount(redis, ENVIRONMENT);
  if (count === undefined) throw new Error("there are no partitions");
  return await storedRows(new RedisPartitionStore(redis, { environment: ENVIRONMENT }), count);
}
