/**
 * Follows who leads what by asking one worker at a time: the first that answers tells of all. When it goes silent the next is
 * asked, those first known from settings and then whoever was ever named.
 */

import { create } from "@bufbuild/protobuf";
import type { Client, ClientReadableStream } from "@grpc/grpc-js";
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import { partitionsDefinition } from "./definitions.js";
import { type Directory, WatchRequestSchema } from "./gen/v1/partitions_pb.js";
import type { LeaderDirectory } from "./leadership.js";
import { RECONNECT_FIRST_MS, RECONNECT_LONGEST_MS } from "./limits.js";

export interface DirectoryWatchPorts {
  readonly directory: LeaderDirectory;
  readonly open: (address: string) => Client;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class DirectoryWatch {
  readonly #ports: DirectoryWatchPorts;
  readonly #seeds: readonly string[];
  #client: Client | undefined;
  #stream: ClientReadableStream<Directory> | undefined;
  #pause: TimerHandle | undefined;
  #turn = 0;
  #failures = 0;
  #closed = false;

  /** `seeds`: where workers answer, `host:port`; at least one. */
  constructor(ports: DirectoryWatchPorts, seeds: readonly string[]) {
    this.#ports = ports;
    this.#seeds = seeds;
    this.#ask();
  }

  close(): void {
    this.#closed = true;
    this.#pause?.cancel();
    this.#hangUp();
  }

  #ask(): void {
    const { directory, open } = this.#ports;
    const candidates = [...new Set([...directory.workers, ...this.#seeds])];
    const address = candidates[this.#turn++ % candidates.length] as string;
    const client = open(address);
    this.#client = client;
    const { path, requestSerialize, responseDeserialize } = partitionsDefinition.watch;
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, create(WatchRequestSchema));
    this.#stream = stream;
    stream.on("data", (news: Directory) => {
      this.#failures = 0;
      directory.learn({
        partitionCount: news.partitionCount,
        workers: news.workers,
        leaders: news.leaders.map(({ partition, epoch, address }) => ({ partition, epoch: Number(epoch), address })),
      });
    });
    stream.on("end", () => this.#lost(stream, address, "it closed the stream"));
    stream.on("error", (error: Error) => this.#lost(stream, address, error.message));
  }

  #lost(stream: ClientReadableStream<Directory>, address: string, reason: string): void {
    if (this.#closed || this.#stream !== stream) return;
    this.#hangUp();
    const { clock, logger } = this.#ports;
    logger.debug({ worker: address, reason }, "lost the worker that told who leads; asking the next");
    const pauseMs = Math.min(RECONNECT_FIRST_MS * 2 ** this.#failures++, RECONNECT_LONGEST_MS);
    this.#pause = clock.setTimer(pauseMs, () => this.#ask());
  }

  #hangUp(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.on("error", () => undefined); // Cancelling reports itself as an error, which is what we asked for.
    stream?.cancel();
    this.#client?.close();
    this.#client = undefined;
  }
}
