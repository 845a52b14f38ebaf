import { expect, test } from "@jest/globals";
import { aWish } from "@perdure/cloud/testing";
import type { Environment } from "@perdure/custom-resources";
import { isIn, standingOf, wishOf } from "./standing.js";
import { environmentOf } from "./wish.js";

interface Told {
  readonly type?: string;
  readonly status: "True" | "False";
  readonly reason: string;
}

const wish = aWish({ generation: 3 });

function told(conditions: readonly Told[], observedGeneration = 2): Environment {
  const { metadata, ...rest } = environmentOf(wish, { version: "1.4.0", size: "small", hibernateAfterSeconds: 0 });
  const all = conditions.map(({ type = "Ready", status, reason }) => ({ type, status, reason, message: "a message" }));
  return {
    ...rest,
    metadata: { ...metadata, generation: 2 },
    status: { observedGeneration, conditions: all },
  } as unknown as Environment;
}

const name = wish.environmentId.replace("_", "-");
const upstream = {
  ingress: `http://runtime.${name}.svc.cluster.local:8080`,
  admin: `http://runtime.${name}.svc.cluster.local:9070`,
};

test.each([
  ["ready", told([{ status: "True", reason: "Ready" }]), { phase: "ready", generation: 3, upstream }],
  ["suspended", told([{ status: "False", reason: "Suspended" }]), { phase: "ready", generation: 3, upstream }],
  ["asleep", told([{ status: "False", reason: "Hibernated" }]), { phase: "ready", generation: 3, upstream }],
  ["rolling", told([{ status: "False", reason: "RollingOut" }]), { phase: "starting", generation: 3 }],
  ["of an older spec", told([{ status: "True", reason: "Ready" }], 1), { phase: "starting", generation: 3 }],
  ["not looked at", told([]), { phase: "starting", generation: 3 }],
  [
    "refused",
    told([
      { type: "Accepted", status: "False", reason: "WrongRegion" },
      { status: "False", reason: "WrongRegion" },
    ]),
    { phase: "failed", generation: 3, reason: "WrongRegion: a message" },
  ],
])("an environment that is %s", (_how, environment, state) => {
  expect(standingOf(environment, 3, "cluster.local")).toEqual(state);
});

test("what is removed, leaves, or nobody of us wished is no runtime", () => {
  const environment = told([]);
  const { metadata } = environment;
  expect(wishOf(environment)).toBe(3);
  const removed = { ...metadata.annotations, "perdure.dev/removed": "yes" };
  expect(wishOf({ ...environment, metadata: { ...metadata, annotations: removed } })).toBeUndefined();
  expect(wishOf({ ...environment, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })).toBeUndefined();
  expect(wishOf({ ...environment, metadata: { ...metadata, annotations: {} } })).toBeUndefined();
});

test("a copy that is older than the wish is not believed", () => {
  const environment = told([]);
  expect(isIn({ generation: 3, objectGeneration: 2 }, environment)).toBe(true);
  expect(isIn({ generation: 3, objectGeneration: 3 }, environment)).toBe(false);
  expect(isIn({ generation: 4, objectGeneration: 2 }, environment)).toBe(false);
  expect(isIn({ generation: 1, objectGeneration: 1 }, undefined)).toBe(false);
});
