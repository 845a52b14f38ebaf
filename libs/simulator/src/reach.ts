/** How callers reach a leader: directly in a world of leaders, through a gateway in a world of clusters. */
import type { InvocationId } from "@perdure/base";
import type { Partitions } from "@perdure/control";

/** A process that answers callers. */
export interface Reached {
  /** Undefined while it serves no requests. */
  readonly partitions: Partitions | undefined;
  /** `lost` is called once when the process is gone, unless the returned function was called before. */
  connect(lost: () => void): () => void;
}

/** All that leads, and how it is reached. */
export interface Leaders {
  start(): void;
  /** The process that a caller of this id reaches now; undefined while there is none. */
  leaderFor(id: InvocationId): Reached | undefined;
  /** Processes that have begun to close and not come to an end. */
  readonly closing: readonly string[];
  /** Checks after each step what must hold inside the processes. */
  check(): void;
  /** Nothing bad happens from now on. */
  calm(): void;
}
