/**
 * Delivers the outbox of a processor that leads some partitions of an environment: messages to one of these go back into its own mailbox,
 * and all others to a courier.
 */
import { type Clock, type PartitionSubset, partitionOf } from "@perdure/base";
import type { Courier } from "@perdure/control";
import type { PartitionCommand } from "@perdure/state-machine";
import type { Processor } from "../processor.js";
import { LoopbackPeers } from "./loopback-peers.js";
import { OrderedPeers } from "./ordered-peers.js";
import type { OutboxPeers } from "./outbox.js";

export class SubsetPeers implements OutboxPeers {
  readonly #own: PartitionSubset;
  readonly #loopback = new LoopbackPeers();
  readonly #elsewhere: OrderedPeers;

  constructor(own: PartitionSubset, remote: Courier, clock: Clock) {
    this.#own = own;
    this.#elsewhere = new OrderedPeers(remote, clock, ({ id }) => partitionOf(id, own.partitionCount));
  }

  connect(processor: Processor): void {
    this.#loopback.connect(processor);
  }

  send(producer: string, seq: number, command: PartitionCommand, delivered: () => void): void {
    const peers = this.#own.hasId(command.id) ? this.#loopback : this.#elsewhere;
    peers.send(producer, seq, command, delivered);
  }

  /** The processor stops: the next process that leads its partitions sends what is pending. */
  close(): void {
    this.#elsewhere.close();
  }
}
