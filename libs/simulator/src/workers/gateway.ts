/** A gateway process: follows leaders by news that may be old, and asks them over links that may break. */
import type { Partitions } from "@perdure/control";
import { type DirectoryNews, LeaderDirectory, Link, RemotePartitions } from "@perdure/driver-grpc";
import type { Reached } from "../reach.js";
import type { World } from "../world.js";
import { Body } from "./body.js";
import type { Network } from "./network.js";

export class SimulatedGateway implements Reached {
  readonly body: Body;
  readonly #remote: RemotePartitions;
  readonly #directory = new LeaderDirectory();

  constructor(place: string, number: number, world: World, network: Network) {
    this.body = new Body(`${place}#${number}`, world);
    const links = new Map<string, Link>();
    const link = (address: string): Link => {
      const known = links.get(address) ?? new Link(address, network.channel(this.body, address), world.scheduler.soon);
      links.set(address, known);
      return known;
    };
    this.#remote = new RemotePartitions({ directory: this.#directory, link, clock: this.body.clock });
  }

  get partitions(): Partitions | undefined {
    return this.body.alive ? this.#remote : undefined;
  }

  connect(lost: () => void): () => void {
    return this.body.onEnd(lost);
  }

  learn(news: DirectoryNews): void {
    this.body.enter(() => this.#directory.learn(news));
  }
}
