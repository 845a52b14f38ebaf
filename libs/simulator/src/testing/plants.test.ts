import { describe, expect, test } from "@jest/globals";
import type { Settings } from "../settings.js";
import { simulate } from "../simulation.js";
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

describe("planted bugs", () => {
  test.each(Object.keys(PLANTS) as (keyof typeof PLANTS)[])(
    "%s is found",
    async (name) => {
      const settings = FAVOURABLE[name] ?? {};
      let found: string | undefined;
      for (let seed = 1; seed <= SEEDS_MAX && found === undefined; seed++) {
        const { findings } = await simulate({ seed, plant: PLANTS[name](), settings });
        found = findings[0]?.rule;
      }
      expect(found).toBeDefined();
      expect(found).not.toBe("the simulation itself goes on");
    },
    30_000,
  );

  test.each(Object.keys(FLOW_PLANTS) as (keyof typeof FLOW_PLANTS)[])(
    "%s is found in worlds of scopes",
    async (name) => {
      let found: string | undefined;
      for (let seed = 1; seed <= SEEDS_MAX && found === undefined; seed++) {
        const { findings } = await simulate({ seed, flow: true, plant: FLOW_PLANTS[name]() });
        found = findings[0]?.rule;
      }
      expect(found).toBeDefined();
      expect(found).not.toBe("the simulation itself goes on");
    },
    90_000,
  );

  test.each(Object.keys(CLUSTER_PLANTS) as (keyof typeof CLUSTER_PLANTS)[])(
    "%s is found in worlds of clusters",
    async (name) => {
      let found: string | undefined;
      for (let seed = 1; seed <= CLUSTER_SEEDS_MAX && found === undefined; seed++) {
        const { findings } = await simulate({ seed, cluster: true, plant: CLUSTER_PLANTS[name]() });
        found = findings[0]?.rule;
      }
      expect(found).toBeDefined();
      expect(found).not.toBe("the simulation itself goes on");
    },
    90_000,
  );
});
