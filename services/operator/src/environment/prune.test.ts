import { expect, test } from "@jest/globals";
import { type KubernetesClient, type ObjectCache, type Resource, resources } from "@perdure/kubernetes";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { networkPolicies } from "../desired/network-policies.js";
import { pruneScaledObject } from "./autoscaling-step.js";
import { prune, pruneUnwanted } from "./prune.js";
import { growVolumes } from "./volumes.js";

const SIGNAL = new AbortController().signal;
const NAMESPACE = "env-0123456789";
const METADATA = { name: "worker", namespace: NAMESPACE, uid: "theirs", ownerReferences: [{ uid: "uid-1" }] };

/** Records the deleted objects, and those that the applier dropped. */
function ports(existing: unknown) {
  const calls: string[] = [];
  const client = {
    find: async () => existing,
    delete: async ({ plural }: Resource, name: string, _: string, options: { readonly uid?: string }) =>
      calls.push(`delete ${plural}/${name} ${options.uid}`),
  } as unknown as KubernetesClient;
  const applier = {
    discardObject: ({ plural }: Resource, name: string, namespace: string | undefined) =>
      void calls.push(`discard ${plural}/${namespace}/${name}`),
  };
  const caches = {
    of: (resource: Resource) =>
      resource === resources.autoscalers ? ({ values: () => [{ metadata: METADATA }] } as unknown as ObjectCache) : undefined,
  };
  return { client, applier, caches, calls };
}

// Regression: after a rest the workers were not scaled any more, because the authentication of KEDA counted as existing.
test("pruned objects are dropped from the applier, so that they are created again when they are needed", async () => {
  const { calls, ...rest } = ports({ metadata: METADATA });
  const suspended = environmentWith({ suspended: true });
  await pruneUnwanted(suspended, rest, SIGNAL);
  await pruneScaledObject(suspended, { isThere: false, objects: [], hindrance: undefined, hasKeda: true }, rest, SIGNAL);
  expect(calls).toEqual([
    `discard horizontalpodautoscalers/${NAMESPACE}/worker`,
    "delete horizontalpodautoscalers/worker theirs",
    `discard scaledobjects/${NAMESPACE}/worker`,
    "delete scaledobjects/worker theirs",
  ]);
});

test("the removal of a StatefulSet that is created again around its pods does not count as foreign", async () => {
  const requests = (storage: string) => ({ resources: { requests: { storage } } });
  const metadata = { name: "redis", namespace: NAMESPACE, uid: "set" };
  const set = {
    ...resources.statefulSets,
    metadata,
    // The claim has grown as well.
    spec: { ...requests("20Gi"), volumeClaimTemplates: [{ spec: requests("10Gi") }] },
    status: { capacity: { storage: "20Gi" } },
  };
  const { calls, ...rest } = ports(set);
  const environment = environmentWith();
  const { bundled } = environment.spec.redis;
  const grown = { ...environment, spec: { ...environment.spec, redis: { bundled: { ...bundled, size: "20Gi" } } } };
  const outcome = await growVolumes(grown as typeof environment, set, rest, SIGNAL);
  expect(outcome?.observation.reason).toBe("Resizing");
  expect(calls).toEqual([`discard statefulsets/${NAMESPACE}/redis`, "delete statefulsets/redis set"]);
});

test("policies of an earlier release go, those of the environment and of others stay", async () => {
  const { calls, ...rest } = ports(undefined);
  const desired = networkPolicies(environmentWith(), cell);
  const others = { metadata: { name: "theirs", namespace: NAMESPACE, uid: "2", ownerReferences: [{ uid: "another" }] } };
  const earlier = { metadata: { ...METADATA, name: "allow-egress-worker", uid: "1" } };
  const there = [...desired, earlier, others, { metadata: { ...METADATA, namespace: "env-another" } }];
  const caches = { of: () => ({ values: () => there }) as unknown as ObjectCache };
  await prune(environmentWith(), resources.networkPolicies, desired, { ...rest, caches }, SIGNAL);
  expect(calls).toEqual([
    `discard networkpolicies/${NAMESPACE}/allow-egress-worker`,
    "delete networkpolicies/allow-egress-worker 1",
  ]);
});
