/** Throttled requests of a seed: most callers send with one of a few keys and repeat what was refused, while leaders crash. */
import { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface ThrottleSettings {
  readonly keys: readonly string[];
  readonly periodMs: number;
  readonly limit: number;
  /** Keys that a partition stores at most. */
  readonly keysMax: number;
  /** Chance that a request has the throttle. */
  readonly share: number;
}

/** Separate random numbers, so that a seed without throttled requests keeps its world. */
const SEED_OFFSET = 2 ** 21;

export function drawThrottleSettings(seed: number, settings: SimulationSettings): SimulationSettings {
  const random = new SeededRandom(seed + SEED_OFFSET);
  return {
    ...settings,
    throttle: {
      keys: random.pick([[""], ["a", "b"]]),
      periodMs: random.pick([500, 2_000, 8_000]),
      limit: random.pick([1, 1, 2, 3]),
      share: 0.8,
      keysMax: seed % 3 === 0 ? 1 : 1_000, // No random number: seeds of before keep their worlds.
    },
    objects: random.pick([1, 2]),
    callers: 8 + random.below(12),
    stormMs: random.pick([2_000, 20_000]),
  };
}
