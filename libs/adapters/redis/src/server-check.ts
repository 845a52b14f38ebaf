/**
 * Checks the configuration of Redis at the start: a server that is configured as a cache evicts journals without an error, and one that is
 * configured for long streams wastes memory.
 */
import { type Logger, PerdureError, present } from "@perdure/base";
import { STREAM_NODE_BYTES_MAX } from "./limits.js";
import type { RedisCommand } from "./link.js";
import { answer, type RedisRequester } from "./requester.js";

/**
 * Rejects with OPS0001 when the server evicts keys; warns when it may lose acknowledged writes, alone or with `replicas` replicas, and when
 * journals need more memory than necessary. A server that does not allow reading its configuration passes.
 */
export async function checkServer(requester: RedisRequester, logger: Logger, replicas: number): Promise<void> {
  const info = await textOf(requester, ["INFO"]);
  if (info === undefined) return logger.warn({}, "Redis refuses INFO; its durability cannot be checked");
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
  const policy = field("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction")
    throw new PerdureError(
      "OPS0001",
      `Redis evicts keys (maxmemory-policy ${policy}) and would lose journals; set it to noeviction`,
    );
  await checkStreams(requester, logger);
  if (field("aof_enabled") !== "1")
    return logger.warn({}, "Redis keeps no append-only file: acknowledged writes are lost when it ends");
  const fsync = await textOf(requester, ["CONFIG", "GET", "appendfsync"]);
  if (fsync !== undefined && !fsync.includes("always"))
    logger.warn({}, "Redis runs without appendfsync always: the last acknowledged writes are lost with its machine");
  if (replicas === 0) return;
  const needed = await textOf(requester, ["CONFIG", "GET", "min-replicas-to-write"]);
  if (needed !== undefined && Number(needed.split(" ").at(-1)) < replicas)
    logger.warn(
      { replicas },
      "Redis accepts writes with fewer replicas than required (min-replicas-to-write): an isolated primary may accept writes for a while",
    );
}

/** A block is allotted whole when a journal begins; 0 leaves its size to Redis, which takes 4 KiB. */
async function checkStreams(requester: RedisRequester, logger: Logger): Promise<void> {
  const setting = await textOf(requester, ["CONFIG", "GET", "stream-node-max-bytes"]);
  const bytes = Number(setting?.split(" ").at(-1));
  if (setting === undefined || (bytes > 0 && bytes <= STREAM_NODE_BYTES_MAX)) return;
  logger.warn(
    { bytes },
    `Redis takes 4 KiB for the shortest journal (stream-node-max-bytes): with ${STREAM_NODE_BYTES_MAX} most take a quarter of that`,
  );
}

/** Undefined when the command is not allowed. */
async function textOf(requester: RedisRequester, command: RedisCommand): Promise<string | undefined> {
  const [reply] = await requester.request([command]);
  // Managed servers forbid or rename such commands.
  if (reply instanceof Error && /^(NOPERM|ERR unknown command)/.test(reply.message)) return undefined;
  const value = answer(present(reply));
  return Array.isArray(value) ? value.map(String).join(" ") : String(value);
}
