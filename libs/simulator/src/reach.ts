/** Why: callers find their way to a leader directly in a world of leaders, and through a gateway in one of a cluster; they need not know. */
import type { InvocationId } from "@perdure/base";
import type { Partitions } from "@perdure/control";

/** A process that answers callers. */
export interface Reached {
  /** Undefined while it answers nobody. */
  readonly partitions: Partitions | undefined;
  /** `lost` is called once when the process is gone, unless the returned function was called before. */
  connect(lost: () => void): () => void;
}

/** All that leads, and how it is reached. */
export interface Leaders {
  start(): void;
  /** Whom a caller of this id talks to now; undefined while there is nobody. */
  leaderFor(id: InvocationId): Reached | undefined;
  /** Processes that have begun to close and not come to an end. */
  readonly closing: readonly string[];
  /** Checks after each step what must hold inside the processes. */
  check(): void;
  /** Nothing bad happens from now on. */
  calm(): void;
}
