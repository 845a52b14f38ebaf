/** A gateway process: follows leaders by changes that may be old, and sends requests over links that may break. */
import type { Partitions } from "@perdure/control";
import { type DirectoryUpdate, LeaderDirectory, RemotePartitions, WorkerLink } from "@perdure/grpc";
import type { Reached } from "../reach.js";
import type { SimulatedWorld } from "../world.js";
import { SimulatedProcess } from "./body.js";
import type { SimulatedNetwork } from "./network.js";

export class SimulatedGateway implements Reached {
  readonly body: SimulatedProcess;
  readonly #remote: RemotePartitions;
  readonly #directory = new LeaderDirectory();

  constructor(place: string, number: number, world: SimulatedWorld, network: SimulatedNetwork) {
    this.body = new SimulatedProcess(`${place}#${number}`, world);
    const links = new Map<string, WorkerLink>();
    const link = (address: string): WorkerLink => {
      const existing = links.get(address) ?? new WorkerLink(address, network.channel(this.body, address), world.scheduler.soon);
      links.set(address, existing);
      return existing;
    };
    this.#remote = new RemotePartitions({ directory: this.#directory, link, clock: this.body.clock });
  }

  get partitions(): Partitions | undefined {
    return this.body.alive ? this.#remote : undefined;
  }

  connect(lost: () => void): () => void {
    return this.body.onEnd(lost);
  }

  learn(changes: DirectoryUpdate): void {
    this.body.enter(() => this.#directory.learn(changes));
  }
}
