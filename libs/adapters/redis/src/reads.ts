/** Reads of a leader are checked against its epoch; other reads, e.g. of introspection, return the stored rows unchecked. */
import { present } from "@perdure/base";
import { type LeadToken, requireLead, type StoredLead } from "@perdure/storage";
import type { CommandReply, RedisCommand } from "./link.js";
import { fieldsReply } from "./replies.js";
import { answer, type RedisRequester } from "./requester.js";

/** Reads of one partition. */
export interface PartitionReads {
  /** See `RedisRequester.request`. */
  request(commands: readonly RedisCommand[]): Promise<readonly CommandReply[]>;
  /** See `RedisRequester.one`. */
  one(command: RedisCommand): Promise<Exclude<CommandReply, Error>>;
}

/**
 * Reads of a leader. Each read also returns mark and epoch of the partition, and rejects with STO0005 or STO0002 when these have changed.
 */
export class LeaderReads implements PartitionReads {
  readonly #requester: RedisRequester;
  readonly #partition: number;
  readonly #lead: LeadToken;
  readonly #check: RedisCommand;

  constructor(requester: RedisRequester, partition: number, prefix: string, lead: LeadToken) {
    this.#requester = requester;
    this.#partition = partition;
    this.#lead = lead;
    this.#check = ["HMGET", `${prefix}epoch`, "mark", "epoch"];
  }

  async request(commands: readonly RedisCommand[]): Promise<readonly CommandReply[]> {
    const replies = await this.#requester.request([...commands, this.#check]);
    requireLead(this.#partition, this.#lead, storedLead(present(replies[commands.length])));
    return replies.slice(0, commands.length);
  }

  async one(command: RedisCommand): Promise<Exclude<CommandReply, Error>> {
    const [reply, carried] = await this.#requester.request([command, this.#check]);
    requireLead(this.#partition, this.#lead, storedLead(present(carried)));
    return answer(present(reply));
  }
}

function storedLead(reply: CommandReply): StoredLead {
  const [mark, epoch] = fieldsReply(reply);
  return { mark: mark?.toString("latin1"), epoch: epoch == null ? undefined : Number(epoch.toString("latin1")) };
}
