/** Connects callers to a leader: directly in a world of leaders, through a gateway in a world of clusters. */
import type { InvocationId } from "@perdure/base";
import type { Partitions, RegistryView } from "@perdure/control";
import type { PartitionBatch, PartitionStore } from "@perdure/storage";
import type { Outside } from "./endpoint/session.js";
import type { SimulatedWorld } from "./world.js";

/** What the leaders of a world share. */
export interface Surroundings {
  readonly world: SimulatedWorld;
  readonly store: PartitionStore;
  readonly registry: RegistryView;
  readonly outside: Outside;
  /** Called with the batches of each commit, in the order of commits. */
  readonly applied: (batches: readonly PartitionBatch[]) => void;
}

/** A process that serves callers. */
export interface Reached {
  /** Undefined while it serves no requests. */
  readonly partitions: Partitions | undefined;
  /** `lost` is called once when the process is gone, unless the returned function was called before. */
  connect(lost: () => void): () => void;
}

/** All leaders, and how callers reach them. */
export interface Leaders {
  start(): void;
  /** The process that a caller of this id reaches now; undefined while there is none. */
  leaderFor(id: InvocationId): Reached | undefined;
  /** Names of processes that have begun to close and have not finished. */
  readonly closing: readonly string[];
  /** Checks after each step the rules about the inside of the processes. */
  check(): void;
  /** Stops all faults from now on. */
  calm(): void;
}
