import { describe, expect, test } from "@jest/globals";
import type { Settings } from "../settings.js";
import { type Report, simulate } from "../simulation.js";
import { CLUSTER_PLANTS } from "./cluster-plants.js";
import { FLOW_PLANTS, PLANTS } from "./plants.js";

/** Seeds within which each planted bug must be found. Most are found by the first ones. */
const SEEDS_MAX = 150;

const ROUGH = { crashEveryMs: 3_000, crashAtCommit: 0.02, takeOverEveryMs: 5_000, clockJumpEveryMs: undefined };
const LOSSY = { storeFailure: 0, messageLoss: 0.02, messageRepeated: 0.1, badAttempt: 0.3 };

/** Weather in which some bugs show sooner. */
const FAVOURABLE: Partial<Record<keyof typeof PLANTS, Partial<Settings>>> = {
  retryTooEarly: { weather: { ...ROUGH, ...LOSSY, crashEveryMs: undefined }, commitMs: 40, objects: 1 },
  staleAttemptAccepted: { operatorActions: 30, objects: 1 },
  blockedKeepSlots: { concurrentInvocationsMax: 1, callers: 9 },
  deliveryAcknowledgedEarly: { weather: { ...ROUGH, ...LOSSY }, partitionCount: 4, groups: [[0], [1], [2], [3]] },
};

/** The same of bugs of a cluster. */
const CLUSTER_SEEDS_MAX = 60;

/** Worlds that show bugs which few worlds show. They are tried first, and the others when one does not show its bug any more. */
const KNOWN_SEEDS: Readonly<Record<string, number>> = {
  staleAttemptAccepted: 24,
  slotKeptWhileSuspended: 9,
  runningNotCounted: 18,
  heavyKeyFirst: 44,
  leaseHeldAfterItsEnd: 16,
  acknowledgedBeforeCommit: 50,
  redirectedIsNew: 8,
  fenceOff: 6,
};

/** The rule that the planted bug breaks first. Undefined when none of the worlds shows it. */
async function brokenRule(name: string, seedsMax: number, world: (seed: number) => Promise<Report>): Promise<string | undefined> {
  const known = KNOWN_SEEDS[name];
  const others = Array.from({ length: seedsMax }, (_, n) => n + 1);
  for (const seed of known === undefined ? others : [known, ...others]) {
    const [finding] = (await world(seed)).findings;
    if (finding !== undefined) return finding.rule;
  }
  return undefined;
}

describe("planted bugs", () => {
  test.each(Object.keys(PLANTS) as (keyof typeof PLANTS)[])(
    "%s is found",
    async (name) => {
      const settings = FAVOURABLE[name] ?? {};
      const found = await brokenRule(name, SEEDS_MAX, (seed) => simulate({ seed, plant: PLANTS[name](), settings }));
      expect(found).toBeDefined();
      expect(found).not.toBe("the simulation itself goes on");
    },
    30_000,
  );

  test.each(Object.keys(FLOW_PLANTS) as (keyof typeof FLOW_PLANTS)[])(
    "%s is found in worlds of scopes",
    async (name) => {
      const found = await brokenRule(name, SEEDS_MAX, (seed) => simulate({ seed, flow: true, plant: FLOW_PLANTS[name]() }));
      expect(found).toBeDefined();
      expect(found).not.toBe("the simulation itself goes on");
    },
    90_000,
  );

  test.each(Object.keys(CLUSTER_PLANTS) as (keyof typeof CLUSTER_PLANTS)[])(
    "%s is found in worlds of clusters",
    async (name) => {
      const found = await brokenRule(name, CLUSTER_SEEDS_MAX, (seed) =>
        simulate({ seed, cluster: true, plant: CLUSTER_PLANTS[name]() }),
      );
      expect(found).toBeDefined();
      expect(found).not.toBe("the simulation itself goes on");
    },
    90_000,
  );
});
