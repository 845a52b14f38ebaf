/**
 * Follows who leads each partition by watching workers: each worker reports all leaders. Two workers are watched at a time, because the
 * silence of a frozen or disconnected worker is noticed only after seconds. When a watch is lost, the next worker is tried; candidates are
 * the live workers and the addresses in the settings.
 */
import { create } from "@bufbuild/protobuf";
import type { Client, ClientReadableStream } from "@grpc/grpc-js";
import { Backoff, type Clock, type Logger, type Random, type TimerHandle } from "@perdure/base";
import { partitionsDefinition } from "./definitions.js";
import { type Directory, WatchRequestSchema } from "./gen/v1/partitions_pb.js";
import type { LeaderDirectory } from "./leadership.js";
import { DIRECTORY_WATCHES, RECONNECT_BOUNDS, RECONNECT_LONGEST_MS } from "./limits.js";

export interface DirectoryWatchPorts {
  readonly directory: LeaderDirectory;
  readonly open: (address: string) => Client;
  readonly clock: Clock;
  /** For the pauses between tries to connect. */
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
  readonly #backoff: Backoff;
  readonly #seeds: readonly string[];
  /** Addresses that any watch has at the moment. */
  readonly #watchedAddresses: Set<string>;
  #address: string | undefined;
  #client: Client | undefined;
  #stream: ClientReadableStream<Directory> | undefined;
  #pause: TimerHandle | undefined;
  #turn = 0;
  #closed = false;

  constructor(ports: DirectoryWatchPorts, seeds: readonly string[], watchedAddresses: Set<string>) {
    this.#ports = ports;
    this.#backoff = new Backoff(RECONNECT_BOUNDS, ports.random);
    this.#seeds = seeds;
    this.#watchedAddresses = watchedAddresses;
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    this.#pause?.cancel();
    this.#hangUp();
  }

  #connect(): void {
    const { directory, open } = this.#ports;
    const candidates = [...new Set([...directory.workers, ...this.#seeds])].filter(
      (address) => !this.#watchedAddresses.has(address),
    );
    const address = candidates[this.#turn++ % candidates.length];
    if (address === undefined) return this.#connectLater(RECONNECT_LONGEST_MS); // No worker is left that is not watched already.
    this.#address = address;
    this.#watchedAddresses.add(address);
    const client = open(address);
    this.#client = client;
    const { path, requestSerialize, responseDeserialize } = partitionsDefinition.watch;
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, create(WatchRequestSchema));
    this.#stream = stream;
    stream.on("data", (update: Directory) => {
      this.#backoff.reset();
      directory.learn({
        partitionCount: update.partitionCount,
        workers: update.workers,
        leaders: update.leaders.map(({ partition, epoch, address }) => ({ partition, epoch: Number(epoch), address })),
      });
    });
    stream.on("end", () => this.#lost(stream, address, "it closed the stream"));
    stream.on("error", (error: Error) => this.#lost(stream, address, error.message));
  }

  #lost(stream: ClientReadableStream<Directory>, address: string, reason: string): void {
    if (this.#closed || this.#stream !== stream) return;
    this.#hangUp();
    const { logger } = this.#ports;
    logger.debug({ worker: address, reason }, "lost the watch for leaders; using the next worker");
    this.#connectLater(this.#backoff.next());
  }

  #connectLater(pauseMs: number): void {
    this.#pause = this.#ports.clock.setTimer(pauseMs, () => this.#connect());
  }

  #hangUp(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    if (this.#address !== undefined) this.#watchedAddresses.delete(this.#address);
    this.#address = undefined;
    stream?.on("error", () => undefined); // `cancel` emits an error on the stream.
    stream?.cancel();
    this.#client?.close();
    this.#client = undefined;
  }
}
