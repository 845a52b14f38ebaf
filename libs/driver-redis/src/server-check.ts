/** Why: a Redis set up as a cache loses journals without a word. Better to hear of it when we start. */
import { type Logger, PerdureError } from "@perdure/base";
import { type Asker, answer } from "./asking.js";
import type { Reply } from "./link.js";

/**
 * Rejects with OPS0001 when the server evicts; warns when it may lose what it acknowledged, alone or with the
 * `replicas` that are waited for. A server that may not be asked is trusted.
 */
export async function checkServer(asker: Asker, logger: Logger, replicas: number): Promise<void> {
  const info = await textOf(asker, ["INFO"]);
  if (info === undefined) return logger.warn({}, "we may not ask Redis for INFO, so nobody checks that it is durable");
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
  const policy = field("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction")
    throw new PerdureError(
      "OPS0001",
      `Redis evicts keys (maxmemory-policy ${policy}) and would lose journals; set it to noeviction`,
    );
  if (field("aof_enabled") !== "1")
    return logger.warn({}, "Redis keeps no append-only file: what it acknowledged is lost when it ends");
  const fsync = await textOf(asker, ["CONFIG", "GET", "appendfsync"]);
  if (fsync !== undefined && !fsync.includes("always"))
    logger.warn({}, "Redis runs without appendfsync always: what it acknowledged last is lost with its machine");
  if (replicas === 0) return;
  const needed = await textOf(asker, ["CONFIG", "GET", "min-replicas-to-write"]);
  if (needed !== undefined && Number(needed.split(" ").at(-1)) < replicas)
    logger.warn(
      { replicas },
      "Redis takes writes with fewer replicas than we wait for (min-replicas-to-write): a primary that is cut off may go on for a while",
    );
}

/** Undefined when we may not ask. */
async function textOf(asker: Asker, command: readonly string[]): Promise<string | undefined> {
  const [reply] = await asker.ask([command]);
  // Managed servers forbid or rename such commands.
  if (reply instanceof Error && /^(NOPERM|ERR unknown command)/.test(reply.message)) return undefined;
  const value = answer(reply as Reply);
  return Array.isArray(value) ? value.map(String).join(" ") : String(value);
}
