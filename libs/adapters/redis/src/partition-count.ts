/**
 * Stores the number of partitions. An invocation's partition follows from its id and that number, so the number must never change under
 * existing data. The first worker of an environment writes it; for later workers the setting has no effect.
 */
import { PerdureError } from "@perdure/base";
import type { RedisConnections } from "./connect.js";
import { environmentPrefix } from "./keys.js";
import { bytesReply } from "./replies.js";

/** The number to use. Rejects with STO0001 when Redis does not answer, STO0003 when the stored value is not a number. */
export async function agreedPartitionCount(redis: RedisConnections, environment: string, setting: number): Promise<number> {
  const key = `${environmentPrefix(redis, environment)}partitions`;
  await redis.commits.one(["SET", key, String(setting), "NX"], { replicated: true });
  const count = Number(bytesReply(await redis.commits.one(["GET", key])));
  if (!Number.isSafeInteger(count) || count < 1)
    throw new PerdureError("STO0003", `the Redis key '${key}' is not a number of partitions`);
  return count;
}
