/**
 * Why: who bills asks what an environment has done. Each partition counts that where it becomes durable: the number rises in the very script
 * that writes the batch, so it survives whoever led, and a batch that is sent again counts once. Whoever asks adds partitions up.
 *
 * The data have a name, made by whoever asks first. A restored Redis has fewer actions than were told before, so it begins at zero under
 * another name (decision 0021): that of the data and of its incarnation.
 */
import { PerdureError } from "@perdure/base";
import type { RedisConnections } from "./connect.js";
import { environmentPrefix, partitionPrefix } from "./keys.js";
import type { RedisCommand } from "./link.js";
import { answer } from "./requester.js";

export interface ActionsDone {
  /** Names the data: totals of another source begin at zero. */
  readonly source: string;
  /** Starts of invocations and steps of journals, as they are durable. */
  readonly actions: number;
}

/** `newSource` names data without a name. Rejects with STO0001 when Redis does not answer, and while a restored one begins its life. */
export async function readActions(redis: RedisConnections, environment: string, newSource: () => string): Promise<ActionsDone> {
  const prefix = environmentPrefix(redis, environment);
  const name = await nameOf(redis, `${prefix}usage-source`, newSource);
  const partitionCount = Number((await redis.reads.one(["GET", `${prefix}partitions`])) as Buffer | null);
  const commands: RedisCommand[] = [];
  for (let partition = 0; partition < partitionCount; partition++)
    commands.push(["HMGET", `${partitionPrefix(redis, environment, partition)}epoch`, "actions", "incarnation"]);
  const replies = commands.length === 0 ? [] : await redis.reads.request(commands);
  const instances = new Set<string>();
  let actions = 0;
  for (const reply of replies) {
    const [done, instance] = answer(reply) as readonly (Buffer | null)[];
    actions += Number(done ?? 0);
    instances.add(String(instance ?? ""));
  }
  // Some count from zero already, others still tell what was before.
  if (instances.size > 1) throw new PerdureError("STO0001", "a restored environment is about to begin a life of its own");
  const [instance = ""] = instances;
  return { source: instance === "" ? name : `${name}.${instance}`, actions };
}

/** Whoever is first decides. */
async function nameOf({ reads, commits }: RedisConnections, key: string, newName: () => string): Promise<string> {
  const storedName = (await reads.one(["GET", key])) as Buffer | null;
  if (storedName !== null) return String(storedName);
  await commits.one(["SET", key, newName(), "NX"], { replicated: true });
  return String(await commits.one(["GET", key]));
}
