/** Why: what belongs to one partition that is led here, and where it is found by those who know a number or an id. */
import { type InvariantError, type InvocationId, partitionOf, type Ring } from "@perdure/base";
import type { Letter } from "./letter.js";
import type { LiveView } from "./live-view.js";
import type { Outbox } from "./outbox.js";
import type { RowCache } from "./row-cache.js";

export interface Led {
  readonly view: LiveView;
  /** Rows of a store behind a network. */
  readonly cache: RowCache | undefined;
  readonly epoch: number;
  readonly outbox: Outbox;
  /** Letters that wait until rows are loaded; undefined while nothing is being loaded. */
  blocked: Ring<Letter> | undefined;
  /** An invariant broke: the partition answers nobody until somebody restarts the process. */
  stopped: InvariantError | undefined;
}

export class LedPartitionTable {
  readonly #byPartition = new Map<number, Led>();
  readonly #partitionCount: number;

  constructor(partitionCount: number) {
    this.#partitionCount = partitionCount;
  }

  add(led: Led): void {
    this.#byPartition.set(led.view.partition, led);
  }

  partitionOf(id: InvocationId): number {
    return partitionOf(id, this.#partitionCount);
  }

  get(partition: number): Led | undefined {
    return this.#byPartition.get(partition);
  }

  of(id: InvocationId): Led | undefined {
    return this.#byPartition.get(partitionOf(id, this.#partitionCount));
  }

  values(): IterableIterator<Led> {
    return this.#byPartition.values();
  }
}
