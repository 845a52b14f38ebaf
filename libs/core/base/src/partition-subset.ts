/** Some of the partitions of an environment: those that one thread of a process leads. */
import type { InvocationId } from "./id-format.js";
import { invariant } from "./invariant.js";
import { partitionOf } from "./invocation-id.js";

export class PartitionSubset {
  /** Number of partitions of the environment. */
  readonly partitionCount: number;
  /** In ascending order. */
  readonly partitions: readonly number[];
  /** 1 for each partition of the subset. */
  readonly #isIncluded: Uint8Array;

  constructor(partitions: Iterable<number>, partitionCount: number) {
    this.partitionCount = partitionCount;
    this.#isIncluded = new Uint8Array(partitionCount);
    for (const partition of partitions) {
      invariant(Number.isInteger(partition) && partition >= 0 && partition < partitionCount, "the partition exists");
      this.#isIncluded[partition] = 1;
    }
    this.partitions = [...this.#isIncluded.keys()].filter((partition) => this.has(partition));
  }

  has(partition: number): boolean {
    return this.#isIncluded[partition] === 1;
  }

  /** Whether the partition of `id` is in the subset. */
  hasId(id: InvocationId): boolean {
    return this.#isIncluded[partitionOf(id, this.partitionCount)] === 1;
  }
}
