/**
 * Messages of a partition to partitions led elsewhere: stored with the sender's commit, delivered at least once, deleted when the
 * receiver has them. The receiver drops duplicates by (producer, sequence). Sequences always rise: the epoch is their upper half, so a
 * new leader never repeats one.
 */
import type { OutboxMessage, PartitionCommand } from "@perdure/state-machine";
import { OUTBOX_PAGE } from "../limits.js";
import type { PartitionGroup } from "../partition-group.js";

/**
 * Delivers a command to the leader of the partition that owns it. Messages of one producer to one partition keep their order, also when
 * the partition changes its leader: a receiver that accepts a sequence counts all lower ones as received, so a new leader must be sent
 * the oldest unacknowledged message first.
 */
export interface OutboxPeers {
  /** `delivered` is called once the receiver has stored it; the peer retries until then. */
  send(producer: string, seq: number, command: PartitionCommand, delivered: () => void): void;
}

const SEQUENCES_PER_EPOCH = 2 ** 32;

export class Outbox {
  readonly #group: PartitionGroup;
  readonly #partition: number;
  readonly #producer: string;
  #next: number;
  /** Undelivered messages by receiving partition. */
  readonly #pendingByPartition = new Map<number, number>();

  constructor(group: PartitionGroup, partition: number, epoch: number) {
    this.#group = group;
    this.#partition = partition;
    this.#producer = `p${partition}`;
    this.#next = epoch * SEQUENCES_PER_EPOCH;
  }

  nextSeq(to: number): number {
    this.#pendingByPartition.set(to, (this.#pendingByPartition.get(to) ?? 0) + 1);
    return this.#next++;
  }

  /** Whether any message is undelivered. */
  get hasPending(): boolean {
    return this.#pendingByPartition.size > 0;
  }

  hasPendingFor(partition: number): boolean {
    return this.#pendingByPartition.size > 0 && this.#pendingByPartition.has(partition);
  }

  /** Sends a message, which must be durable here. */
  send(message: OutboxMessage, to: number): void {
    let isDelivered = false;
    this.#group.ports.peers.send(this.#producer, message.seq, message.command, () => {
      if (isDelivered) return;
      isDelivered = true;
      this.#delivered(message, to);
    });
  }

  /** The receiver has the message: it is deleted here. */
  #delivered({ seq }: OutboxMessage, to: number): void {
    const left = (this.#pendingByPartition.get(to) ?? 1) - 1;
    if (left === 0) this.#pendingByPartition.delete(to);
    else this.#pendingByPartition.set(to, left);
    this.#group.post({ kind: "acknowledged", partition: this.#partition, seq });
  }

  /** Sends again the messages that a former leader may not have delivered. */
  async recover(): Promise<void> {
    const { ports, leaders } = this.#group;
    let after = -1;
    for (;;) {
      const page = await ports.store.outbox(this.#partition, after, OUTBOX_PAGE);
      for (const message of page) {
        const to = leaders.partitionOf(message.command.id);
        this.#pendingByPartition.set(to, (this.#pendingByPartition.get(to) ?? 0) + 1);
        this.send(message, to);
      }
      const last = page[page.length - 1];
      if (last === undefined || page.length < OUTBOX_PAGE) return;
      after = last.seq;
    }
  }
}
