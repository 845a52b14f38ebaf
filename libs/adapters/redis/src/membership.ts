/** The list of workers in Redis: each heartbeat removes the workers whose last heartbeat is too old by Redis's own clock. */
import { jsonFields, parseJson, present } from "@perdure/base";
import type { Member, Membership, WorkerId } from "@perdure/storage";
import type { RedisConnections } from "./connect.js";
import { environmentPrefix } from "./keys.js";
import { MEMBER_MS } from "./limits.js";
import { listReply } from "./replies.js";
import { answer } from "./requester.js";
import { beatScript } from "./scripts.js";

interface RedisMembershipOptions {
  readonly environment: string;
  /** Time that a worker stays on the list without a heartbeat. Default 3 s. */
  readonly memberMs?: number;
}

export class RedisMembership implements Membership {
  readonly #redis: RedisConnections;
  readonly #keys: readonly [members: string, beats: string];
  readonly #memberMs: number;

  /** Throws OPS0001 when the environment's name cannot be part of a key. */
  constructor(redis: RedisConnections, options: RedisMembershipOptions) {
    const prefix = environmentPrefix(redis, options.environment);
    this.#redis = redis;
    this.#keys = [`${prefix}members`, `${prefix}members:at`];
    this.#memberMs = options.memberMs ?? MEMBER_MS;
  }

  async beat({ id, address, draining }: Member): Promise<readonly Member[]> {
    const args = [id, JSON.stringify({ address, draining }), this.#memberMs];
    const options = { timeoutMs: this.#memberMs };
    const listed = listReply(await this.#redis.leases.one({ script: beatScript, keys: this.#keys, args }, options));
    const members: Member[] = [];
    for (let i = 0; i + 1 < listed.length; i += 2) {
      const member = memberOf(present(listed[i]).toString(), present(listed[i + 1]).toString());
      if (member !== undefined) members.push(member);
    }
    return members.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async leave(id: WorkerId): Promise<void> {
    const [members, beats] = this.#keys;
    const replies = await this.#redis.leases.request([
      ["HDEL", members, id],
      ["ZREM", beats, id],
    ]);
    for (const reply of replies) answer(reply);
  }
}

/**
 * A worker as its last heartbeat stored it. Undefined when the record has no address: without one no other worker can reach it, and an
 * error here would stop the heartbeats of all workers because of one record.
 */
function memberOf(id: WorkerId, record: string): Member | undefined {
  const fields = jsonFields(parseJson(record));
  const address = fields?.["address"];
  return typeof address === "string" ? { id, address, draining: fields?.["draining"] === true } : undefined;
}
