/** Clients of workers and of the registry, the same for every role: channels, a watch, and the ports that use them. */
import { type Clock, type Logger, type OperationObserver, PerdureError } from "@perdure/base";
import {
  type Channel,
  DirectoryWatch,
  LeaderDirectory,
  linksToWorkers,
  openChannel,
  openRemoteRegistry,
  type PeerCredentials,
  PerWorker,
  RemotePartitions,
  type RemoteRegistry,
  RemoteRows,
} from "@perdure/grpc";
import type { ProcessPart } from "@perdure/process-kit";

interface PeerPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Notified of unary calls. */
  readonly observer?: OperationObserver | undefined;
}

interface PeerAddresses {
  /** `host:port`, at least one. */
  readonly addresses: readonly string[];
  readonly tls: PeerCredentials | undefined;
}

/** Threads of this process: the channels are there, and who leads which partition does not change. */
interface WorkerThreads {
  readonly directory: LeaderDirectory;
  /** Returns the one channel to a thread, every time; `Workers` closes it. */
  readonly open: (address: string) => Channel;
}

/** All workers of the environment, through those that were named, or all threads. */
export interface Workers extends ProcessPart {
  readonly directory: LeaderDirectory;
  readonly partitions: RemotePartitions;
  readonly rows: RemoteRows;
  /** Resolves with the number of partitions once a worker has reported it. Rejects with OPS0004 when the signal fires. */
  untilReady(signal: AbortSignal): Promise<number>;
}

export function openWorkers(workers: PeerAddresses | WorkerThreads, { clock, logger }: PeerPorts): Workers {
  const directory = "directory" in workers ? workers.directory : new LeaderDirectory();
  const open = "open" in workers ? workers.open : (address: string): Channel => openChannel(address, workers.tls);
  const channels = new PerWorker<Channel>(directory, { open, isIdle: () => true, close: (channel) => channel.close() });
  const links = linksToWorkers(directory, open);
  const watch = "addresses" in workers ? new DirectoryWatch({ directory, open, clock, logger }, workers.addresses) : undefined;
  const partitions = new RemotePartitions({ directory, link: (address) => links.at(address), clock });
  const rows = new RemoteRows({ directory, channel: (address) => channels.at(address), clock, logger });
  return {
    directory,
    partitions,
    rows,
    async untilReady(signal) {
      const ready = new Promise<void>((resolve) => {
        if (directory.partitionCount > 0) return resolve();
        const stop = directory.onChange(() => {
          stop();
          resolve();
        });
      });
      await unlessStopped(ready, signal);
      return directory.partitionCount;
    },
    async [Symbol.asyncDispose]() {
      watch?.close();
      partitions.close();
      links.close();
      channels.close();
    },
  };
}

interface RegistryClient extends ProcessPart {
  readonly registry: RemoteRegistry;
  /** Resolves when the registry's state is here. Rejects with OPS0004 when the signal fires. */
  untilReady(signal: AbortSignal): Promise<void>;
}

/**
 * `withRecords`: for management APIs; the data path needs only the state that it reads. Instead of addresses there may be ready channels, such
 * as those to the thread of the registry; the client closes them.
 */
export function openRegistryClient(
  registries: PeerAddresses | { readonly channels: readonly Channel[] },
  withRecords: boolean,
  ports: PeerPorts,
): RegistryClient {
  const channels =
    "channels" in registries
      ? registries.channels
      : registries.addresses.map((address) => openChannel(address, registries.tls, ports.observer));
  const registry = openRemoteRegistry({ channels, clock: ports.clock, logger: ports.logger }, { withRecords });
  return {
    registry,
    untilReady: (signal) => unlessStopped(registry.ready, signal),
    async [Symbol.asyncDispose]() {
      registry.close();
      for (const channel of channels) channel.close();
    },
  };
}

function unlessStopped(awaited: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => reject(new PerdureError("OPS0004", "the process is stopping"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  awaited.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", stop));
}
