/**
 * Delivers the outbox to leaders elsewhere: each message is passed to a courier, and messages that are not accepted are offered again,
 * oldest first. A receiver accepts a message only when it has the one sent before it, so a leader that changes between two of them
 * never receives the later one first.
 */
import type { Clock, TimerHandle } from "@perdure/base";
import type { Courier } from "@perdure/control";
import type { PartitionCommand } from "@perdure/state-machine";
import { OFFER_AGAIN_MS } from "../limits.js";
import type { OutboxPeers } from "./outbox.js";

interface PeerMessage {
  readonly seq: number;
  readonly command: PartitionCommand;
  readonly delivered: () => void;
}

export class OrderedPeers implements OutboxPeers {
  readonly #courier: Courier;
  readonly #clock: Clock;
  readonly #partitionOf: (command: PartitionCommand) => number;
  /** Pending messages by producer and receiving partition. */
  readonly #lanes = new Map<string, Lane>();
  #closed = false;

  constructor(courier: Courier, clock: Clock, partitionOf: (command: PartitionCommand) => number) {
    this.#courier = courier;
    this.#clock = clock;
    this.#partitionOf = partitionOf;
  }

  send(producer: string, seq: number, command: PartitionCommand, delivered: () => void): void {
    if (this.#closed) return;
    const name = `${producer} ${this.#partitionOf(command)}`;
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane(producer, this.#courier, this.#clock, () => this.#lanes.delete(name));
      this.#lanes.set(name, lane);
    }
    lane.send({ seq, command, delivered });
  }

  /** The producer no longer leads: its successor sends the pending messages. */
  close(): void {
    this.#closed = true;
    for (const lane of this.#lanes.values()) lane.close();
    this.#lanes.clear();
  }
}

/** The pending messages from one producer to one partition. */
class Lane {
  readonly #producer: string;
  readonly #courier: Courier;
  readonly #clock: Clock;
  readonly #onEmpty: () => void;
  /** Messages not yet accepted, in ascending order. */
  readonly #pending = new Map<number, PeerMessage>();
  /** The last message offered in this round. */
  #after: number | undefined;
  /** Rises when everything is offered again; refusals of an older round are ignored. */
  #round = 0;
  #pause: TimerHandle | undefined;

  constructor(producer: string, courier: Courier, clock: Clock, onEmpty: () => void) {
    this.#producer = producer;
    this.#courier = courier;
    this.#clock = clock;
    this.#onEmpty = onEmpty;
  }

  send(message: PeerMessage): void {
    this.#pending.set(message.seq, message);
    if (this.#pause === undefined) this.#offer(message);
  }

  close(): void {
    this.#pause?.cancel();
    this.#pending.clear();
  }

  #offer({ seq, command }: PeerMessage): void {
    const round = this.#round;
    const delivery = { command, producer: this.#producer, seq, after: this.#after };
    this.#after = seq;
    this.#courier.deliver(
      delivery,
      () => this.#accepted(seq),
      () => this.#refused(round),
    );
  }

  #accepted(seq: number): void {
    const message = this.#pending.get(seq);
    if (message === undefined) return;
    this.#pending.delete(seq);
    message.delivered();
    if (this.#pending.size === 0) this.#onEmpty();
  }

  #refused(round: number): void {
    if (round !== this.#round || this.#pending.size === 0) return;
    this.#round++;
    this.#pause = this.#clock.setTimer(OFFER_AGAIN_MS, () => {
      this.#pause = undefined;
      this.#after = undefined;
      for (const message of [...this.#pending.values()]) {
        if (this.#pause !== undefined) return; // Refused at once: everything is offered again later.
        this.#offer(message);
      }
    });
  }
}
