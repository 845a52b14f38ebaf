/**
 * Collects what one command does: mutations are visible to later reads at once, effects wait for durability,
 * messages go to the partition that owns the id they are about.
 */
import type { PartitionCommand } from "./command.js";
import type { Effect } from "./effect.js";
import type { Mutation } from "./mutation.js";

export interface Transition {
  /** Wall-clock time of the command, milliseconds; the only clock there is. */
  readonly nowMs: number;
  mutate(mutation: Mutation): void;
  effect(effect: Effect): void;
  /** To whichever partition owns `command.id`, this one included; applied after the present command. */
  send(command: PartitionCommand): void;
}
