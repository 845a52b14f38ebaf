/**
 * Starts a new instance of a restored environment. A Redis that was restored from a backup is older than its former workers, some of which
 * may still run, and older than the archive, which stores the highest epoch. Workers of a restored environment carry the name of the new
 * instance, and the first of them moves every partition to epochs above all earlier ones.
 */
import type { RedisConnections } from "./connect.js";
import { partitionPrefix } from "./keys.js";
import { INSTANCE_EPOCHS } from "./limits.js";
import { beginInstanceScript } from "./scripts.js";

/**
 * Call it before leading. Repeated calls by any worker of the same instance change nothing more. Resolves with the number of partitions
 * that belonged to another instance. Rejects with STO0001 when Redis does not answer.
 */
export async function beginInstance(
  redis: RedisConnections,
  environment: string,
  partitionCount: number,
  instance: string,
): Promise<number> {
  let begun = 0;
  for (let partition = 0; partition < partitionCount; partition++) {
    const prefix = partitionPrefix(redis, environment, partition);
    const keys = [`${prefix}epoch`, `${prefix}lease`];
    const call = { script: beginInstanceScript, keys, args: [instance, INSTANCE_EPOCHS] };
    begun += Number(await redis.commits.one(call, { replicated: true }));
  }
  return begun;
}
