/** One worker leading one partition, from the acquisition of its lease until it stops or is handed over. */
import { partitionOf } from "@perdure/base";
import type { Archiver } from "../archive/archiver.js";
import { OrderedPeers } from "../outbox/ordered-peers.js";
import { Processor } from "../processor.js";
import type { HandoverCause, LeaderHandle } from "./leadership.js";
import type { LeadingWorker } from "./leading-worker.js";
import { YIELD_ATTEMPTS_MS } from "./limits.js";

export class PartitionTerm implements LeaderHandle {
  readonly #worker: LeadingWorker;
  readonly #partition: number;
  readonly #peers: OrderedPeers;
  readonly #stopped: () => void;
  /** Undefined until the partition works. */
  #processor: Processor | undefined;
  /** Undefined also without an archive. */
  #archiver: Archiver | undefined;

  /** `stopped` is called when the partition stops by itself. */
  constructor(worker: LeadingWorker, partition: number, stopped: () => void) {
    this.#worker = worker;
    this.#partition = partition;
    this.#stopped = stopped;
    const { partitionCount } = worker.options;
    this.#peers = new OrderedPeers(worker.courier, worker.ports.clock, ({ id }) => partitionOf(id, partitionCount));
  }

  /** Resolves when the partition works. */
  async begin(signal: AbortSignal, cause: HandoverCause): Promise<void> {
    const { archiving } = this.#worker.ports;
    try {
      this.#processor = await this.#startProcessor(signal, cause);
    } catch (error) {
      this.#peers.close();
      throw error;
    }
    this.#archiver = archiving?.begin(this.#processor);
    this.#worker.leaderPartitions.add(this.#partition, this.#processor);
  }

  #startProcessor(signal: AbortSignal, cause: HandoverCause): Promise<Processor> {
    const { ports, options, counters } = this.#worker;
    const { store, metrics, largeGarbage, clock, soon, rules, events, stateTtls, archiving } = ports;
    const { partitionCount, cleanupIntervalMs, undoBytesMax, throttleKeysMax } = options;
    const partition = this.#partition;
    const onStopped = (): void => this.#end();
    return Processor.start(
      {
        store,
        counters,
        metrics,
        largeGarbage,
        clock,
        logger: ports.logger.child({ component: "processor", partition }),
        soon,
        invoker: (host) => ports.invoker(partition, host),
        rules,
        events,
        stateTtls,
        ...(archiving === undefined ? {} : { archive: archiving.archive }),
        peers: this.#peers,
        onFenced: onStopped,
        onFatal: onStopped,
      },
      {
        partitions: [partition],
        partitionCount,
        cleanupIntervalMs,
        undoBytesMax,
        throttleKeysMax,
        isHandedOver: cause === "drain" || cause === "rebalance",
      },
      signal,
    );
  }

  async yield(): Promise<void> {
    await this.#archiver?.[Symbol.asyncDispose]();
    await this.#processor?.yield(YIELD_ATTEMPTS_MS);
    this.#leave();
  }

  abandon(reason: string): void {
    this.#archiver?.stop();
    this.#leave();
    this.#processor?.abandon(reason);
  }

  /** The partition has stopped by itself. */
  #end(): void {
    this.#archiver?.stop();
    this.#leave();
    this.#stopped();
  }

  /** Ends the term: requests no longer reach the partition here, and its messages stay in the store. */
  #leave(): void {
    this.#peers.close();
    if (this.#processor !== undefined) this.#worker.leaderPartitions.remove(this.#partition, this.#processor);
  }
}
