/** Debounced requests of a seed: most callers send with one of a few keys, so that bursts form while leaders crash. */
import type { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface DebounceSettings {
  readonly keys: readonly string[];
  readonly quietMs: number;
  /** Delay after the first request of a burst at the most. */
  readonly maxMs: number;
  /** Chance that a request is debounced. */
  readonly share: number;
}

/** Separate random numbers, so that a seed without debounced requests keeps its world. */
const SEED_OFFSET = 2 ** 23;

export function debounceSeed(seed: number): number {
  return seed + SEED_OFFSET;
}

export function drawDebounceSettings(random: SeededRandom, settings: SimulationSettings): SimulationSettings {
  const quietMs = random.pick([200, 1_000, 4_000]);
  return {
    ...settings,
    debounce: { keys: random.pick([[""], ["a", "b"]]), quietMs, maxMs: quietMs * random.pick([1, 2, 5]), share: 0.8 },
    objects: random.pick([1, 2]),
    callers: 8 + random.below(10),
    stormMs: random.pick([2_000, 20_000]),
  };
}
