/** Delivers messages to the leader of their partition: in this process when it is led here, and through another courier otherwise. */
import type { Courier, Delivery } from "@perdure/control";
import type { LeaderPartitions } from "./leader-partitions.js";

/** The leaders in this process. */
type LocalLeaders = Pick<LeaderPartitions, "leads" | "deliver">;

export class LeaderCourier implements Courier {
  readonly #local: LocalLeaders;
  readonly #remote: Courier;

  constructor(local: LocalLeaders, remote: Courier) {
    this.#local = local;
    this.#remote = remote;
  }

  deliver(delivery: Delivery, delivered: () => void, undelivered: () => void): void {
    const { command, producer, seq, after } = delivery;
    if (!this.#local.leads(command.id)) return this.#remote.deliver(delivery, delivered, undelivered);
    if (!this.#local.deliver(command, producer, seq, delivered, after, undelivered)) undelivered();
  }
}
