/**
 * Collects what one command does: mutations are visible to later reads at once, effects wait for durability,
 * messages go to the partition that owns the id they are about.
 */
import type { PartitionCommand } from "./command.js";
import type { Effect } from "./effect.js";
import type { Mutation } from "./mutation.js";

export interface Transition {
  /** Wall-clock time of the command, in milliseconds since 1970; transitions have no other clock. */
  readonly nowMs: number;
  mutate(mutation: Mutation): void;
  effect(effect: Effect): void;
  /** Sends to the partition that owns `command.id`, this one included; applied after the present command. */
  send(command: PartitionCommand): void;
}
