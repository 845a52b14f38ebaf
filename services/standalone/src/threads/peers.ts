/**
 * The partitions of the other threads, as one thread reaches them: over the services with which the workers of a cluster reach each other,
 * carried by ports. Leaders do not move while the process runs.
 */
import { type Clock, type Logger, present } from "@perdure/base";
import {
  type Channel,
  LeaderDirectory,
  type LiveWorker,
  openPortChannel,
  type PortServer,
  partitionsDefinition,
  partitionsHandlers,
  RemotePartitions,
  servePort,
  WorkerLink,
} from "@perdure/grpc";
import type { InvokerWorker } from "@perdure/invoker-worker";
import type { ThreadLeadership } from "./methods.js";
import { addressOf, type ThreadPorts } from "./thread-ports.js";

type Service = Parameters<PortServer["serve"]>;

export class ThreadPeers implements Disposable {
  readonly directory = new LeaderDirectory();
  /** Partitions that are led in other threads. Requests wait until `learn` was called. */
  readonly remote: RemotePartitions;
  readonly #channels: ReadonlyMap<string, Channel>;
  readonly #links = new Map<string, WorkerLink>();
  readonly #servers: readonly PortServer[];

  /** The ports belong to this object from now on. */
  constructor({ calling, serving }: ThreadPorts, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    const channels = new Map<string, Channel>();
    for (const [thread, port] of calling.entries())
      if (port !== undefined) channels.set(addressOf(thread), openPortChannel(port));
    this.#channels = channels;
    this.#servers = serving.map((port) => servePort(port, logger));
    this.remote = new RemotePartitions({ directory: this.directory, link: (address) => this.#linkTo(address), clock });
  }

  channelTo(address: string): Channel {
    return present(this.#channels.get(address));
  }

  /** Serves a service to all other threads. */
  serve(...service: Service): void {
    for (const server of this.#servers) server.serve(...service);
  }

  servePartitions({ served }: Pick<InvokerWorker, "served">, live: LiveWorker): void {
    this.serve(partitionsDefinition, partitionsHandlers({ ...served, directory: this.directory, live }));
  }

  /** Called once, when all threads lead their partitions. */
  learn(partitionCount: number, threads: number, leaders: readonly ThreadLeadership[]): void {
    const workers = Array.from({ length: threads }, (_, thread) => addressOf(thread));
    const claims = leaders.map(({ partition, epoch, thread }) => ({ partition, epoch, address: addressOf(thread) }));
    this.directory.learn({ partitionCount, leaders: claims, workers });
  }

  [Symbol.dispose](): void {
    this.remote.close();
    for (const link of this.#links.values()) link.close();
    for (const channel of this.#channels.values()) channel.close();
    for (const server of this.#servers) server.close();
  }

  #linkTo(address: string): WorkerLink {
    const link = this.#links.get(address) ?? new WorkerLink(address, this.channelTo(address));
    this.#links.set(address, link);
    return link;
  }
}
