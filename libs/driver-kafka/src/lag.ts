/**
 * Why: how far a consumer is behind cannot be told from what it has read: a partition that rests, or that nothing was read of yet,
 * has records waiting too. So the broker is asked now and then where each partition ends.
 */
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import type { ConsumerPosition } from "@perdure/subscription";
import type { Admin } from "kafkajs";
import { LAG_MS } from "./limits.js";

export interface LagWatchOptions {
  readonly topic: string;
  readonly groupId: string;
  /** Where a partition begins of which the group has committed nothing. */
  readonly fromBeginning: boolean;
}

export interface LagWatchPorts {
  readonly admin: Admin;
  readonly tell: (position: ConsumerPosition) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Place {
  /** The next offset to be handled; undefined until that is known. */
  next: number | undefined;
  /** Behind the last record. */
  end: number;
}

/** Asks when partitions are assigned and then again and again; what cannot be asked is told as it was. */
export class LagWatch implements AsyncDisposable {
  readonly #ports: LagWatchPorts;
  readonly #options: LagWatchOptions;
  #places = new Map<number, Place>();
  #connecting: Promise<void> | undefined;
  #asking: Promise<void> | undefined;
  #timer: TimerHandle | undefined;
  #isClosed = false;

  constructor(ports: LagWatchPorts, options: LagWatchOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  assigned(partitions: readonly number[]): void {
    this.#places = new Map(partitions.map((partition) => [partition, { next: undefined, end: 0 }]));
    this.#ask();
  }

  /** `end`: as the broker said with the records. */
  handled(partition: number, next: number, end: number): void {
    const place = this.#places.get(partition);
    if (place === undefined) return;
    place.next = next;
    place.end = Math.max(place.end, end, next);
    this.#tell(partition, place);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#asking;
    if (this.#connecting !== undefined) await this.#ports.admin.disconnect();
  }

  #ask(): void {
    if (this.#isClosed || this.#asking !== undefined) return;
    const { clock, logger } = this.#ports;
    this.#timer?.cancel();
    this.#asking = this.#read(this.#places)
      .catch((cause: unknown) => {
        this.#connecting = undefined;
        logger.debug({ topic: this.#options.topic, reason: String(cause) }, "cannot read the offsets of a topic; retrying");
      })
      .finally(() => {
        this.#asking = undefined;
        if (!this.#isClosed) this.#timer = clock.setTimer(LAG_MS, () => this.#ask());
      });
  }

  async #read(places: ReadonlyMap<number, Place>): Promise<void> {
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
      if (places === this.#places) this.#tell(partition, place);
    }
  }

  async #committed(isWanted: boolean, groupId: string, topic: string): Promise<ReadonlyMap<number, number>> {
    if (!isWanted) return new Map();
    const [answer] = await this.#ports.admin.fetchOffsets({ groupId, topics: [topic] });
    const known = (answer?.partitions ?? []).filter(({ offset }) => Number(offset) >= 0);
    return new Map(known.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  #tell(partition: number, { next, end }: Place): void {
    if (next !== undefined) this.#ports.tell({ partition, next, lag: Math.max(0, end - next) });
  }
}
