import { expect, test } from "@jest/globals";
import { aDesiredRuntime } from "@perdure/cloud/testing";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { environmentOf } from "./desired-environment.js";
import { appliedGenerationOf, isIn, runtimeStateOf } from "./runtime-state.js";

interface ConditionInput {
  readonly type?: string;
  readonly status: "True" | "False";
  readonly reason: string;
}

const desired = aDesiredRuntime({ generation: 3 });

function environmentWith(conditions: readonly ConditionInput[], observedGeneration = 2): EnvironmentResource {
  const { metadata, ...rest } = environmentOf(desired, { version: "1.4.0", size: "small", hibernateAfterSeconds: 0 });
  const all = conditions.map(({ type = "Ready", status, reason }) => ({ type, status, reason, message: "a message" }));
  return {
    ...rest,
    metadata: { ...metadata, generation: 2 },
    status: { observedGeneration, conditions: all },
  } as unknown as EnvironmentResource;
}

const name = desired.environmentId.replace("_", "-");
const upstream = {
  ingress: `http://runtime.${name}.svc.cluster.local:8080`,
  admin: `http://runtime.${name}.svc.cluster.local:9070`,
};

test.each([
  ["ready", environmentWith([{ status: "True", reason: "Ready" }]), { phase: "ready", generation: 3, upstream }],
  ["suspended", environmentWith([{ status: "False", reason: "Suspended" }]), { phase: "ready", generation: 3, upstream }],
  ["asleep", environmentWith([{ status: "False", reason: "Hibernated" }]), { phase: "ready", generation: 3, upstream }],
  ["rolling", environmentWith([{ status: "False", reason: "RollingOut" }]), { phase: "starting", generation: 3 }],
  ["of an older spec", environmentWith([{ status: "True", reason: "Ready" }], 1), { phase: "starting", generation: 3 }],
  ["not reconciled", environmentWith([]), { phase: "starting", generation: 3 }],
  [
    "refused",
    environmentWith([
      { type: "Accepted", status: "False", reason: "WrongRegion" },
      { status: "False", reason: "WrongRegion" },
    ]),
    { phase: "failed", generation: 3, reason: "WrongRegion: a message" },
  ],
])("an environment that is %s", (_how, environment, state) => {
  expect(runtimeStateOf(environment, 3, "cluster.local")).toEqual(state);
});

test("an object that is removed, in deletion or not written by tenancy is not a runtime", () => {
  const environment = environmentWith([]);
  const { metadata } = environment;
  expect(appliedGenerationOf(environment)).toBe(3);
  const removed = { ...metadata.annotations, "perdure.dev/removed": "yes" };
  expect(appliedGenerationOf({ ...environment, metadata: { ...metadata, annotations: removed } })).toBeUndefined();
  expect(
    appliedGenerationOf({ ...environment, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }),
  ).toBeUndefined();
  expect(appliedGenerationOf({ ...environment, metadata: { ...metadata, annotations: {} } })).toBeUndefined();
});

test("a copy that is older than the desired state is not used", () => {
  const environment = environmentWith([]);
  expect(isIn({ generation: 3, objectGeneration: 2 }, environment)).toBe(true);
  expect(isIn({ generation: 3, objectGeneration: 3 }, environment)).toBe(false);
  expect(isIn({ generation: 4, objectGeneration: 2 }, environment)).toBe(false);
  expect(isIn({ generation: 1, objectGeneration: 1 }, undefined)).toBe(false);
});
