/**
 * Messages of a partition to partitions led elsewhere: stored with the sender's commit, delivered at least once, deleted when the
 * receiver has them. The receiver drops duplicates by (producer, sequence). Sequences always rise: the epoch is their upper half, so a
 * new leader never repeats one.
 */
import type { InvocationId } from "@perdure/base";
import type { OutboxMessage, PartitionCommand } from "@perdure/state-machine";
import type { AnyPartitionStore } from "@perdure/storage";
import { OUTBOX_PAGE } from "../limits.js";

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
  readonly #producer: string;
  readonly #peers: OutboxPeers;
  readonly #acknowledge: (seq: number) => void;
  readonly #partition: number;
  #next: number;
  /** Undelivered messages by receiving partition. */
  readonly #pendingByPartition = new Map<number, number>();

  constructor(partition: number, epoch: number, peers: OutboxPeers, acknowledge: (seq: number) => void) {
    this.#partition = partition;
    this.#producer = `p${partition}`;
    this.#peers = peers;
    this.#acknowledge = acknowledge;
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
    let isReported = false;
    this.#peers.send(this.#producer, message.seq, message.command, () => {
      if (isReported) return;
      isReported = true;
      const left = (this.#pendingByPartition.get(to) ?? 1) - 1;
      if (left === 0) this.#pendingByPartition.delete(to);
      else this.#pendingByPartition.set(to, left);
      this.#acknowledge(message.seq);
    });
  }

  /** Sends again the messages that a former leader may not have delivered. */
  async recover(store: AnyPartitionStore, partitionOf: (id: InvocationId) => number): Promise<void> {
    let after = -1;
    for (;;) {
      const page = await store.outbox(this.#partition, after, OUTBOX_PAGE);
      for (const message of page) {
        const to = partitionOf(message.command.id);
        this.#pendingByPartition.set(to, (this.#pendingByPartition.get(to) ?? 0) + 1);
        this.send(message, to);
      }
      const last = page[page.length - 1];
      if (last === undefined || page.length < OUTBOX_PAGE) return;
      after = last.seq;
    }
  }
}
