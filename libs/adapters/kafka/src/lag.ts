/**
 * Measures the lag of a consumer. What the consumer has read is not enough: a partition that is paused, or was not read yet, has waiting
 * records too. So the end offsets of all partitions are requested from the broker periodically.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import type { ConsumerPosition } from "@perdure/subscriptions";
import type { Admin } from "kafkajs";
import { LAG_MS } from "./limits.js";

interface LagWatchOptions {
  readonly topic: string;
  readonly groupId: string;
  /** Whether the group begins at the first record in partitions without committed offset. */
  readonly fromBeginning: boolean;
}

interface LagWatchPorts {
  readonly admin: Admin;
  readonly report: (position: ConsumerPosition) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface PartitionOffsets {
  /** The next offset to be handled; undefined until it is known. */
  next: number | undefined;
  /** The offset after the last record. */
  end: number;
}

/** Requests end offsets when partitions are assigned and then periodically; after a failed request the previous values stay. */
export class LagWatch implements AsyncDisposable {
  readonly #ports: LagWatchPorts;
  readonly #options: LagWatchOptions;
  #places = new Map<number, PartitionOffsets>();
  #connecting: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  #timer: TimerHandle | undefined;
  #isClosed = false;

  constructor(ports: LagWatchPorts, options: LagWatchOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  assigned(partitions: readonly number[]): void {
    this.#places = new Map(partitions.map((partition) => [partition, { next: undefined, end: 0 }]));
    this.#poll();
  }

  /** `end`: the end offset that the broker returned with the records. */
  handled(partition: number, next: number, end: number): void {
    const place = this.#places.get(partition);
    if (place === undefined) return;
    place.next = next;
    place.end = Math.max(place.end, end, next);
    this.#report(partition, place);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#polling;
    if (this.#connecting !== undefined) await this.#ports.admin.disconnect();
  }

  #poll(): void {
    if (this.#isClosed || this.#polling !== undefined) return;
    const { clock, logger } = this.#ports;
    this.#timer?.cancel();
    this.#polling = this.#read(this.#places)
      .catch((cause: unknown) => {
        this.#connecting = undefined;
        logger.debug({ topic: this.#options.topic, reason: String(cause) }, "cannot read the offsets of a topic; retrying");
      })
      .finally(() => {
        this.#polling = undefined;
        if (!this.#isClosed) this.#timer = clock.setTimer(LAG_MS, () => this.#poll());
      });
  }

  async #read(places: ReadonlyMap<number, PartitionOffsets>): Promise<void> {
    const { admin } = this.#ports;
    const { topic, groupId, fromBeginning } = this.#options;
    this.#connecting ??= admin.connect();
    await this.#connecting;
    const committed = await this.#committed(
      [...places.values()].some(({ next }) => next === undefined),
      groupId,
      topic,
    );
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      const place = places.get(partition);
      if (place === undefined) continue;
      place.end = Math.max(place.end, Number(high));
      place.next ??= committed.get(partition) ?? Number(fromBeginning ? low : high);
      if (places === this.#places) this.#report(partition, place);
    }
  }

  async #committed(isRequired: boolean, groupId: string, topic: string): Promise<ReadonlyMap<number, number>> {
    if (!isRequired) return new Map();
    const [answer] = await this.#ports.admin.fetchOffsets({ groupId, topics: [topic] });
    const committed = (answer?.partitions ?? []).filter(({ offset }) => Number(offset) >= 0);
    return new Map(committed.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  #report(partition: number, { next, end }: PartitionOffsets): void {
    if (next !== undefined) this.#ports.report({ partition, next, lag: Math.max(0, end - next) });
  }
}
