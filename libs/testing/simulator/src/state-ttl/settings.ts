/** State with a time to live of a seed: the state of objects expires while handlers run, sleep, wait in queues and leaders crash. */
import { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface StateTtlSettings {
  /** Of the objects of the service `O`. */
  readonly ttlMs: number;
}

/** Separate random numbers, so that a seed without it keeps its world. */
const SEED_OFFSET = 2 ** 22;

export function drawStateTtlSettings(seed: number, settings: SimulationSettings): SimulationSettings {
  const random = new SeededRandom(seed + SEED_OFFSET);
  return {
    ...settings,
    stateTtl: { ttlMs: random.pick([1_000, 3_000, 10_000]) },
    callers: 8 + random.below(10),
    stormMs: random.pick([20_000, 120_000]),
  };
}
