/** Delivers messages to the leader of their partition: in this process when it is led here, and through another courier otherwise. */
import type { Courier, Delivery } from "@perdure/control";
import type { LeaderPartitions } from "./leader-partitions.js";

export class LeaderCourier implements Courier {
  readonly #leaderPartitions: LeaderPartitions;
  readonly #remote: Courier;

  constructor(leaderPartitions: LeaderPartitions, remote: Courier) {
    this.#leaderPartitions = leaderPartitions;
    this.#remote = remote;
  }

  deliver(delivery: Delivery, delivered: () => void, undelivered: () => void): void {
    const { command, producer, seq, after } = delivery;
    if (!this.#leaderPartitions.leads(command.id)) return this.#remote.deliver(delivery, delivered, undelivered);
    if (!this.#leaderPartitions.deliver(command, producer, seq, delivered, after, undelivered)) undelivered();
  }
}
