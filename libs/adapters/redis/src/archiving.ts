/**
 * Records in Redis that an environment archives. A leader without the archive would treat archived invocations as new, and an idempotent
 * call would run twice; so the first worker that archives writes the record, and afterwards a worker without an archive refuses to lead.
 */
import { PerdureError } from "@perdure/base";
import type { RedisConnections } from "./connect.js";
import { environmentPrefix } from "./keys.js";
import { bytesReply } from "./replies.js";

/** Call it before leading. Rejects with OPS0001 when others archive and this worker does not, STO0001 when Redis does not answer. */
export async function agreeOnArchiving(redis: RedisConnections, environment: string, archives: boolean): Promise<void> {
  const key = `${environmentPrefix(redis, environment)}archived`;
  if (archives) {
    await redis.commits.one(["SET", key, "1", "NX"], { replicated: true });
    return;
  }
  if (bytesReply(await redis.commits.one(["GET", key])) !== null)
    throw new PerdureError(
      "OPS0001",
      "'metadata.postgres-url' must be set: completed invocations of this environment are archived, and without the archive they would count as new",
    );
}
