/** The crowd of a seed: many events at one moment, and messages and timers that arrive once more when they are over. */
import type { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface CrowdSettings {
  /** Number of invocations that start at one moment after the storm, in one partition. */
  readonly scheduledInvocations: number;
  /** Chance that a command of an attempt arrives once more when its run is over. */
  readonly repeatedCommand: number;
  /** Chance that a timer that was read before is in a page again. */
  readonly timerAgain: number;
}

/** Separate random numbers, so that a seed without a crowd keeps its world. */
const SEED_OFFSET = 2 ** 22;

export function crowdSeed(seed: number): number {
  return seed + SEED_OFFSET;
}

/** Number of timers; more than one page of everything that is read in pages: timers (512), outbox messages (256), journal rows (512). */
const PAGE_SCHEDULED = 530;

/** Draws the settings of a crowd over those of the seed. In one of six all pages are full. */
export function drawCrowdSettings(random: SeededRandom, settings: SimulationSettings): SimulationSettings {
  const isFull = random.chance(1 / 6);
  const crowd: CrowdSettings = {
    scheduledInvocations: isFull ? PAGE_SCHEDULED + random.below(60) : random.below(12),
    repeatedCommand: random.pick([0.02, 0.1]),
    timerAgain: random.pick([0.1, 0.4]),
  };
  return {
    ...settings,
    crowd,
    objects: random.pick([1, 2]),
    callers: isFull ? 2 : 8 + random.below(8),
    operatorActions: isFull ? 0 : 10 + random.below(30),
    stormMs: random.pick([2_000, 20_000]),
  };
}
