/** Changes of a seed that can be undone: an operator kills and purges, and undoes most of that later. */
import { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface UndoSettings {
  /** Kills and purges that can be undone. */
  readonly changes: number;
  /** Invocations that one operation reaches, one after the other. */
  readonly reachedMax: number;
  /** Time between a change and its undo, at most. */
  readonly undoneWithinMs: number;
  readonly windowMs: number;
  readonly bytesMax: number;
  /** Share of the changes that edit state. */
  readonly editShare: number;
}

/** Separate random numbers, so that a seed without undo keeps its world. */
const SEED_OFFSET = 2 ** 22;

export function drawUndoSettings(seed: number, settings: SimulationSettings): SimulationSettings {
  const random = new SeededRandom(seed + SEED_OFFSET);
  const stormMs = random.pick([2_000, 20_000]);
  return {
    ...settings,
    undo: {
      changes: 4 + random.below(10),
      reachedMax: random.pick([1, 4]),
      undoneWithinMs: random.pick([20, 500, stormMs / 2]),
      windowMs: random.pick([stormMs / 4, 600_000]),
      bytesMax: random.pick([3_000, 1_000_000]),
      editShare: seed % 2 === 0 ? 0.5 : 0, // Seeds without edits keep their worlds.
    },
    callers: 5 + random.below(8),
    stormMs,
  };
}
