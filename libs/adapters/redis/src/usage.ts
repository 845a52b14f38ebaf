/**
 * Counts the actions of an environment, for billing. Each partition counts in the script that writes the batch, so the count survives a
 * change of leader, and a batch that is sent again counts once. The reader adds up the partitions.
 *
 * The data have a name, chosen by the first reader. A restored Redis has fewer actions than were reported before, so it begins at zero
 * under another name (decision 0021): the name of the data with that of the instance.
 */
import { PerdureError } from "@perdure/base";
import type { RedisConnections } from "./connect.js";
import { environmentPrefix, partitionPrefix } from "./keys.js";
import type { RedisCommand } from "./link.js";
import { bytesReply, fieldsReply } from "./replies.js";

interface ActionsDone {
  /** Names the data: totals of another source begin at zero. */
  readonly source: string;
  /** Starts of invocations and steps of journals, as they are durable. */
  readonly actions: number;
}

/**
 * `newSource` names data that have no name. Rejects with STO0001 when Redis does not answer, and while a restored environment is not yet
 * initialised.
 */
export async function readActions(redis: RedisConnections, environment: string, newSource: () => string): Promise<ActionsDone> {
  const prefix = environmentPrefix(redis, environment);
  const name = await nameOf(redis, `${prefix}usage-source`, newSource);
  const partitionCount = Number(bytesReply(await redis.reads.one(["GET", `${prefix}partitions`])));
  const commands: RedisCommand[] = [];
  for (let partition = 0; partition < partitionCount; partition++)
    commands.push(["HMGET", `${partitionPrefix(redis, environment, partition)}epoch`, "actions", "incarnation"]);
  const replies = commands.length === 0 ? [] : await redis.reads.request(commands);
  const instances = new Set<string>();
  let actions = 0;
  for (const reply of replies) {
    const [done, instance] = fieldsReply(reply);
    actions += Number(done ?? 0);
    instances.add(String(instance ?? ""));
  }
  // Some partitions count from zero already, others still have the old count.
  if (instances.size > 1) throw new PerdureError("STO0001", "the restored environment is not initialised in all partitions yet");
  const [instance = ""] = instances;
  return { source: instance === "" ? name : `${name}.${instance}`, actions };
}

/** The first caller decides. */
async function nameOf({ reads, commits }: RedisConnections, key: string, newName: () => string): Promise<string> {
  const storedName = bytesReply(await reads.one(["GET", key]));
  if (storedName !== null) return String(storedName);
  await commits.one(["SET", key, newName(), "NX"], { replicated: true });
  return String(await commits.one(["GET", key]));
}
