/** The cluster of a seed: number of processes, duration of leases, and faults. */
import type { SeededRandom } from "@perdure/testkit";
import { FAIR_WEATHER, type SimulationSettings } from "../settings.js";

/** Mean times between two faults of a kind, exponentially distributed; undefined: never. */
export interface ClusterWeather {
  /** A worker is killed, and started again a little later. */
  readonly crashEveryMs: number | undefined;
  /** A worker is stopped and continued, often after its leases have ended. */
  readonly pauseEveryMs: number | undefined;
  /** A worker is drained, hands over, and is started again; or one more joins. */
  readonly drainEveryMs: number | undefined;
  readonly gatewayCrashEveryMs: number | undefined;
  /** The store responds to no worker, or one worker does not reach it. */
  readonly storeOutageEveryMs: number | undefined;
  readonly storeCutEveryMs: number | undefined;
  /** The store comes back empty: none of its partitions carries the mark of the data set, until the data are restored. */
  readonly storeEmptiedEveryMs: number | undefined;
  /** Two processes do not reach each other, in one direction or both. */
  readonly linkCutEveryMs: number | undefined;
  /** Chance that changes of leaders come seconds late. */
  readonly staleChanges: number;
}

export interface SimulatedClusterSettings {
  readonly workers: number;
  readonly gateways: number;
  /** Interval of a worker's polls; all other times of leases follow from it. */
  readonly pollMs: number;
  /** Maximum pause before a process that ended is started again. Default 1 s. */
  readonly restartMs?: number;
  readonly weather: ClusterWeather;
}

/** Times of leases in the proportions of a real cluster. */
export class LeasePace {
  pollMs: number;
  leaseMs: number;
  marginMs: number;
  memberMs: number;

  constructor(pollMs: number) {
    this.pollMs = pollMs;
    this.leaseMs = 8 * pollMs;
    this.marginMs = 0.8 * pollMs;
    this.memberMs = 6 * pollMs;
  }
}

export const FAIR_CLUSTER_WEATHER: ClusterWeather = {
  crashEveryMs: undefined,
  pauseEveryMs: undefined,
  drainEveryMs: undefined,
  gatewayCrashEveryMs: undefined,
  storeOutageEveryMs: undefined,
  storeCutEveryMs: undefined,
  storeEmptiedEveryMs: undefined,
  linkCutEveryMs: undefined,
  staleChanges: 0,
};

/** Separate random numbers, so that a seed without a cluster keeps its world. */
const SEED_OFFSET = 2 ** 21;

export function clusterSeed(seed: number): number {
  return seed + SEED_OFFSET;
}

/** Draws a cluster over the settings of the seed. */
export function drawClusterSettings(random: SeededRandom, settings: SimulationSettings): SimulationSettings {
  const pollMs = random.pick([150, 250]);
  const partitionCount = random.pick([1, 2, 4, 6]);
  const isFair = settings.weather === FAIR_WEATHER;
  const cluster: SimulatedClusterSettings = {
    workers: 2 + random.below(3),
    gateways: random.pick([1, 2]),
    pollMs,
    weather: isFair ? FAIR_CLUSTER_WEATHER : drawClusterWeather(random),
  };
  const drawn: SimulationSettings = {
    ...settings,
    cluster,
    partitionCount,
    groups: Array.from({ length: partitionCount }, (_, partition) => [partition]),
    // Anything slower than the lease allows is an outage, which is drawn separately.
    commitMs: random.pick([0.3, 2, 10]),
    readMs: random.pick([0.1, 1, 5]),
    networkMs: random.pick([0.5, 5, 20]),
    callers: 6 + random.below(14),
    stormMs: random.pick([3_000, 10_000]),
    retentionMs: 5 * 60_000,
    cleanupIntervalMs: 20_000,
    // This world has its own changes of leaders; wrong clocks belong to worlds of leaders.
    weather: isFair
      ? FAIR_WEATHER
      : { ...settings.weather, crashEveryMs: undefined, takeOverEveryMs: undefined, clockJumpEveryMs: undefined },
  };
  // Drawn last, so that earlier draws stay the same in worlds of earlier versions.
  if (isFair || !random.chance(0.3)) return drawn;
  const storeEmptiedEveryMs = random.pick([200, 2_000, 5_000]);
  return { ...drawn, cluster: { ...cluster, weather: { ...cluster.weather, storeEmptiedEveryMs } } };
}

function drawClusterWeather(random: SeededRandom): ClusterWeather {
  const sometimes = (values: readonly number[]): number | undefined => (random.chance(0.5) ? random.pick(values) : undefined);
  return {
    crashEveryMs: sometimes([500, 3_000]),
    pauseEveryMs: sometimes([500, 2_000]),
    drainEveryMs: sometimes([700, 3_000]),
    gatewayCrashEveryMs: sometimes([2_000]),
    storeOutageEveryMs: sometimes([3_000, 6_000]),
    storeCutEveryMs: sometimes([1_000, 4_000]),
    storeEmptiedEveryMs: undefined,
    linkCutEveryMs: sometimes([400, 2_000]),
    staleChanges: random.pick([0, 0.2, 0.6]),
  };
}
