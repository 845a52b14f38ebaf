/**
 * Why: a Redis that was restored from a backup knows less than its workers of before, of whom some may still be about, and less than the
 * archive, which remembers the highest leader. Both count by epochs. So the workers of a restored environment carry the name of its new
 * life, and whichever comes first makes every partition jump to epochs that nobody can have had before.
 */
import type { RedisConnections } from "./connect.js";
import { partitionPrefix } from "./keys.js";
import { INSTANCE_EPOCHS } from "./limits.js";
import { incarnateScript } from "./scripts.js";

/**
 * Call it before leading; for all workers of a life, again and again, it does something once. Resolves with the number of partitions that
 * were of another life. Rejects with STO0001 when Redis does not answer.
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
    const call = { script: incarnateScript, keys, args: [instance, INSTANCE_EPOCHS] };
    begun += Number(await redis.commits.one(call, { replicated: true }));
  }
  return begun;
}
