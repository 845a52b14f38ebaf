/** Threads of a seed: one process leads all partitions, and each start of it divides them among another number of threads. */
import { SeededRandom } from "@perdure/testkit";
import type { SimulationSettings } from "../settings.js";

export interface ThreadsSettings {
  /** Numbers of threads of the starts, one after the other, again and again. */
  readonly counts: readonly number[];
  /** Typical time of a message between threads. */
  readonly portMs: number;
  /** Chance that a thread refuses a message because too many wait. */
  readonly overload: number;
}

/** Separate random numbers, so that a seed without threads keeps its world. */
const SEED_OFFSET = 2 ** 20;

export function drawThreadsSettings(seed: number, settings: SimulationSettings): SimulationSettings {
  const random = new SeededRandom(seed + SEED_OFFSET);
  const partitionCount = random.pick([2, 4, 6]);
  const drawCount = (): number => Math.min(partitionCount, random.pick([2, 2, 3, 4]));
  const counts = random.chance(0.5) ? [drawCount()] : [drawCount(), random.pick([1, 2]), drawCount()];
  // Of one process no other takes over, its threads have one clock, and messages between them are neither lost nor repeated.
  const weather = {
    ...settings.weather,
    crashEveryMs: random.pick([undefined, 500, 5_000]),
    takeOverEveryMs: undefined,
    clockJumpEveryMs: undefined,
    messageLoss: 0,
    messageRepeated: 0,
  };
  const threads = { counts, portMs: random.pick([0.02, 0.5, 5]), overload: random.pick([0, 0.02, 0.2]) };
  return { ...settings, partitionCount, groups: [], weather, threads };
}
