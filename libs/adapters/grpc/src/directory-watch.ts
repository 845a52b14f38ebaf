/**
 * Follows who leads each partition by watching workers: each worker reports all leaders. Two workers are watched at a time, because the
 * silence of a frozen or disconnected worker is noticed only after seconds. When a watch is lost, the next worker is tried; candidates are
 * the live workers and the addresses in the settings.
 */

import { create } from "@bufbuild/protobuf";
import type { Clock, Logger, Random } from "@perdure/base";
import type { Channel } from "./channel.js";
import { partitionsDefinition } from "./definitions.js";
import { type Directory, WatchRequestSchema } from "./gen/v1/partitions_pb.js";
import type { LeaderDirectory } from "./leadership.js";
import { DIRECTORY_WATCHES } from "./limits.js";
import { WatchStream, type WatchTarget, watchForm } from "./watch-stream.js";

interface DirectoryWatchPorts {
  readonly directory: LeaderDirectory;
  readonly open: (address: string) => Channel;
  readonly clock: Clock;
  /** Draws the pauses between attempts to connect. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

export class DirectoryWatch {
  readonly #watches: readonly WorkerWatch[];

  /** `seeds`: where workers answer, `host:port`; at least one. */
  constructor(ports: DirectoryWatchPorts, seeds: readonly string[]) {
    const watchedAddresses = new Set<string>();
    this.#watches = Array.from({ length: DIRECTORY_WATCHES }, () => new WorkerWatch(ports, seeds, watchedAddresses));
  }

  close(): void {
    for (const watch of this.#watches) watch.close();
  }
}

/** Watches one worker at a time, never a worker that another watch has. */
class WorkerWatch {
  readonly #ports: DirectoryWatchPorts;
  readonly #seeds: readonly string[];
  /** Addresses that any watch has at the moment. */
  readonly #watchedAddresses: Set<string>;
  readonly #stream: WatchStream<Directory>;
  #address: string | undefined;
  #turn = 0;

  constructor(ports: DirectoryWatchPorts, seeds: readonly string[], watchedAddresses: Set<string>) {
    const { directory, logger } = ports;
    this.#ports = ports;
    this.#seeds = seeds;
    this.#watchedAddresses = watchedAddresses;
    this.#stream = new WatchStream<Directory>(ports, {
      forms: [watchForm(partitionsDefinition.watch, create(WatchRequestSchema), (update) => update)],
      next: () => this.#next(),
      onMessage: ({ partitionCount, workers, leaders }) =>
        directory.learn({
          partitionCount,
          workers,
          leaders: leaders.map(({ partition, epoch, address }) => ({ partition, epoch: Number(epoch), address })),
        }),
      onLost: (reason) => logger.debug({ worker: this.#address, reason }, "lost the watch for leaders; using the next worker"),
    });
  }

  close(): void {
    this.#stream.close();
  }

  /** The next worker; undefined when every worker is watched already. */
  #next(): WatchTarget | undefined {
    const { directory, open } = this.#ports;
    const candidates = [...new Set([...directory.workers, ...this.#seeds])].filter(
      (address) => !this.#watchedAddresses.has(address),
    );
    const address = candidates[this.#turn++ % candidates.length];
    if (address === undefined) return undefined;
    this.#address = address;
    this.#watchedAddresses.add(address);
    const client = open(address);
    return {
      client,
      release: () => {
        this.#watchedAddresses.delete(address);
        client.close();
      },
    };
  }
}
