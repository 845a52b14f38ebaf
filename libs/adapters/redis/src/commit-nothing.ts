/** Makes an empty commit with the durability of a partition's commit, to check that commits become durable. */
import { PerdureError } from "@perdure/base";
import type { RedisConnections } from "./connect.js";
import { partitionPrefix } from "./keys.js";
import { PROBE_COMMIT_MS, PROBE_KEPT_MS } from "./limits.js";
import { probeScript } from "./scripts.js";

/**
 * Writes a key that expires beside each of the partitions. Resolves when all of it is as durable as a commit. Rejects with STO0001 when Redis gives no answer in time, too few replicas have it,
 * or a partition is not there; it writes nothing then.
 */
export async function commitNothing(redis: RedisConnections, environment: string, partitions: readonly number[]): Promise<void> {
  const options = { replicated: true, timeoutMs: PROBE_COMMIT_MS };
  const write = async (partition: number): Promise<void> => {
    const prefix = partitionPrefix(redis, environment, partition);
    const call = { script: probeScript, keys: [`${prefix}epoch`, `${prefix}probe`], args: [PROBE_KEPT_MS] };
    if ((await redis.commits.one(call, options)) !== 1) throw new PerdureError("STO0001", `partition ${partition} is not there`);
  };
  await Promise.all(partitions.map(write)); // They leave in one write; in a cluster in one for each node.
}
