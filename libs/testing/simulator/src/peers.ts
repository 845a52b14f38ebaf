/**
 * The network between leaders. Messages of one producer to one partition keep their order over a connection; connections break, what
 * was under way is lost, and everything unacknowledged is sent again from the first. Between producers there is no order, and a
 * delivered message may be delivered once more, much later.
 */

import type { OutboxPeers } from "@perdure/partition-processor";
import type { PartitionCommand } from "@perdure/state-machine";
import { decodeOutboxCommand, encodeOutboxCommand } from "@perdure/storage";
import { partitionFor, type SimulatedWorld } from "./world.js";

/** A leader as other leaders reach it. */
export interface Receiver {
  readonly alive: boolean;
  /** See `Processor.deliver`. */
  deliver(
    command: PartitionCommand,
    producer: string,
    seq: number,
    delivered: () => void,
    after?: number,
    undelivered?: () => void,
  ): boolean;
}

interface InFlightMessage {
  readonly seq: number;
  readonly bytes: Uint8Array;
  readonly delivered: () => void;
}

const RECONNECT_MS = 200;
/** A message without acknowledgement breaks its connection after this time. */
const ACK_TIMEOUT_MS = 3_000;
/** Maximum delay of a repeated delivery. */
const REPEATED_AFTER_MS = 2_000;

export class SimulatedPeers implements OutboxPeers {
  readonly #world: SimulatedWorld;
  readonly #alive: () => boolean;
  readonly #route: (partition: number) => Receiver | undefined;
  readonly #connections = new Map<string, PeerConnection>();

  constructor(world: SimulatedWorld, alive: () => boolean, route: (partition: number) => Receiver | undefined) {
    this.#world = world;
    this.#alive = alive;
    this.#route = route;
  }

  send(producer: string, seq: number, command: PartitionCommand, delivered: () => void): void {
    const to = partitionFor(this.#world, command.id);
    this.#world.ledger.messageSent(producer, seq, command);
    const name = `${producer}>${to}`;
    let connection = this.#connections.get(name);
    if (connection === undefined) {
      connection = new PeerConnection(this.#world, producer, this.#alive, () => this.#route(to));
      this.#connections.set(name, connection);
    }
    connection.send({ seq, bytes: encodeOutboxCommand(command), delivered });
  }
}

class PeerConnection {
  readonly #world: SimulatedWorld;
  readonly #producer: string;
  readonly #alive: () => boolean;
  readonly #receiver: () => Receiver | undefined;
  /** Messages in order of sending; the first is the oldest without acknowledgement. */
  #unanswered: InFlightMessage[] = [];
  /** Rises with each break: arrivals of an earlier connection are dropped. */
  #number = 0;
  #up = true;
  /** A connection belongs to one process: later messages must not reach another one before it has the earlier ones. */
  #to: Receiver | undefined;
  #lastArrivalMs = 0;

  constructor(world: SimulatedWorld, producer: string, alive: () => boolean, receiver: () => Receiver | undefined) {
    this.#world = world;
    this.#producer = producer;
    this.#alive = alive;
    this.#receiver = receiver;
  }

  send(message: InFlightMessage): void {
    this.#unanswered.push(message);
    if (this.#up) this.#transmit(message);
  }

  #transmit(message: InFlightMessage): void {
    const { scheduler, settings } = this.#world;
    const number = this.#number;
    const nowMs = scheduler.clock.monotonicMs();
    const atMs = Math.max(this.#lastArrivalMs, nowMs + scheduler.latency(settings.networkMs));
    this.#lastArrivalMs = atMs;
    scheduler.after(atMs - nowMs, () => {
      if (number === this.#number) this.#arrive(message);
    });
  }

  #arrive(message: InFlightMessage): void {
    const { scheduler, weather, settings } = this.#world;
    if (scheduler.random.chance(weather.messageLoss)) return this.#break();
    const number = this.#number;
    const answered = (): void => {
      scheduler.after(scheduler.latency(settings.networkMs), () => this.#answered(message));
    };
    this.#to ??= this.#receiver();
    const receiver = this.#to;
    if (receiver === undefined || !this.#hand(receiver, message, answered)) return this.#break();
    if (scheduler.random.chance(weather.messageRepeated)) {
      scheduler.after(scheduler.random.float() * REPEATED_AFTER_MS, () => {
        // Repeated to the same process, which has received all earlier messages, or to any leader when the first delivery is durable.
        const later = this.#unanswered.includes(message) ? receiver : this.#receiver();
        if (later?.alive) this.#hand(later, message, () => undefined);
      });
    }
    scheduler.after(ACK_TIMEOUT_MS, () => {
      if (number === this.#number && this.#unanswered[0] === message) this.#break();
    });
  }

  #hand(receiver: Receiver, { bytes, seq }: InFlightMessage, delivered: () => void): boolean {
    return receiver.deliver(decodeOutboxCommand(bytes), this.#producer, seq, delivered);
  }

  #answered(message: InFlightMessage): void {
    if (!this.#alive()) return;
    const at = this.#unanswered.indexOf(message);
    if (at < 0) return;
    this.#unanswered.splice(at, 1);
    message.delivered();
  }

  #break(): void {
    this.#number++;
    this.#to = undefined;
    this.#up = false;
    this.#lastArrivalMs = 0;
    const { scheduler } = this.#world;
    scheduler.after(RECONNECT_MS * (0.2 + scheduler.random.float()), () => {
      if (!this.#alive()) return; // A crashed leader sends nothing; its successor reads the outbox.
      this.#up = true;
      for (const message of this.#unanswered) this.#transmit(message);
    });
  }
}
