/** Why: what a leader reads counts only while it leads; what others read, as introspection does, is whatever is there. */
import { type StoredLead, type LeadToken, requireLead } from "@perdure/store";
import { type Asker, answer } from "./asking.js";
import type { Command, Reply } from "./link.js";

/** What reads a partition. */
export interface Reads {
  /** As `Asker.ask`. */
  ask(commands: readonly Command[]): Promise<readonly Reply[]>;
  /** As `Asker.one`. */
  one(command: Command): Promise<Exclude<Reply, Error>>;
}

/** Reads of a leader. Each brings what the partition carries behind what was read, and rejects with STO0005 or STO0002 when that is another. */
export class LeaderReads implements Reads {
  readonly #asker: Asker;
  readonly #partition: number;
  readonly #lead: LeadToken;
  readonly #check: Command;

  constructor(asker: Asker, partition: number, prefix: string, lead: LeadToken) {
    this.#asker = asker;
    this.#partition = partition;
    this.#lead = lead;
    this.#check = ["HMGET", `${prefix}epoch`, "mark", "epoch"];
  }

  async ask(commands: readonly Command[]): Promise<readonly Reply[]> {
    const replies = await this.#asker.ask([...commands, this.#check]);
    requireLead(this.#partition, this.#lead, foundLead(replies[commands.length] as Reply));
    return replies.slice(0, commands.length);
  }

  async one(command: Command): Promise<Exclude<Reply, Error>> {
    const [reply, carried] = (await this.#asker.ask([command, this.#check])) as [Reply, Reply];
    requireLead(this.#partition, this.#lead, foundLead(carried));
    return answer(reply);
  }
}

function foundLead(reply: Reply): StoredLead {
  const [mark, epoch] = answer(reply) as readonly (Buffer | null)[];
  return { mark: mark?.toString("latin1"), epoch: epoch == null ? undefined : Number(epoch.toString("latin1")) };
}
