/** The message ports of one thread to the others: messages arrive in order, once, and are gone with the process. */
import type { Courier, Delivery } from "@perdure/control";
import { decodeOutboxCommand, encodeOutboxCommand } from "@perdure/storage";
import type { Receiver } from "../peers.js";
import { Pipe } from "../scheduler.js";
import { partitionFor, type SimulatedWorld } from "../world.js";
import type { ThreadsSettings } from "./settings.js";

/** Two pipes between this thread and another. */
interface Port {
  readonly requests: Pipe<() => void>;
  readonly answers: Pipe<() => void>;
}

export class SimulatedPorts implements Courier {
  readonly #world: SimulatedWorld;
  readonly #settings: ThreadsSettings;
  readonly #alive: () => boolean;
  /** The thread that leads a partition, also while it starts. */
  readonly #threadOf: (partition: number) => Receiver;
  readonly #ports = new Map<Receiver, Port>();

  constructor(world: SimulatedWorld, settings: ThreadsSettings, alive: () => boolean, threadOf: (partition: number) => Receiver) {
    this.#world = world;
    this.#settings = settings;
    this.#alive = alive;
    this.#threadOf = threadOf;
  }

  deliver({ command, producer, seq, after }: Delivery, delivered: () => void, undelivered: () => void): void {
    const { scheduler, ledger } = this.#world;
    ledger.messageSent(producer, seq, command);
    const bytes = encodeOutboxCommand(command);
    const receiver = this.#threadOf(partitionFor(this.#world, command.id));
    const { requests, answers } = this.#portTo(receiver);
    const answer = (result: () => void) => (): void => answers.push(result);
    requests.push(() => {
      const refuse = answer(undelivered);
      if (scheduler.random.chance(this.#settings.overload)) return refuse();
      if (!receiver.deliver(decodeOutboxCommand(bytes), producer, seq, answer(delivered), after, refuse)) refuse();
    });
  }

  #portTo(receiver: Receiver): Port {
    const existing = this.#ports.get(receiver);
    if (existing !== undefined) return existing;
    const { scheduler } = this.#world;
    const run = (arrive: () => void): void => {
      if (this.#alive() && receiver.alive) arrive();
    };
    const port = {
      requests: new Pipe(scheduler, this.#settings.portMs, run),
      answers: new Pipe(scheduler, this.#settings.portMs, run),
    };
    this.#ports.set(receiver, port);
    return port;
  }
}
