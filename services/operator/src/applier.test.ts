import { expect, test } from "@jest/globals";
import {
  type KubeObject,
  type KubernetesClient,
  keyOf,
  type ObjectCache,
  type Resource,
  resourceOf,
  resources,
} from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { ObjectApplier } from "./applier.js";
import { FIGHT_REVERTS, UNSEEN_TRUST_MS } from "./limits.js";

const SIGNAL = new AbortController().signal;

/** An API server that keeps metadata only, and copies of everything but role bindings and what KEDA goes by. */
function aCluster() {
  const clock = new VirtualClock();
  const there = new Map<string, KubeObject>();
  const written: string[] = [];
  const fights: string[] = [];
  let uids = 0;
  const keyFor = (object: KubeObject): string =>
    `${resourceOf(object).plural}/${keyOf(object.metadata.name, object.metadata.namespace)}`;
  const client = {
    apply: async (object: KubeObject) => {
      const key = keyFor(object);
      const metadata = there.get(key)?.metadata ?? { ...object.metadata, uid: `uid-${++uids}`, generation: 1 };
      written.push(key);
      there.set(key, { ...object, metadata });
      return { metadata };
    },
  } as unknown as KubernetesClient;
  const cacheOf = (resource: Resource): ObjectCache | undefined => {
    if (resource === resources.roleBindings || resource === resources.scaledObjects) return undefined;
    return {
      get: (name: string, namespace?: string) => there.get(`${resource.plural}/${keyOf(name, namespace)}`),
    } as ObjectCache;
  };
  const metrics = { driftReverts: { inc: () => {} } };
  const applier = new ObjectApplier({
    client,
    cacheOf,
    clock,
    metrics: metrics as never,
    onFight: ({ kind }) => fights.push(kind),
  });
  return { applier, clock, there, written, fights };
}

const object = ({ apiVersion, kind }: Resource, name: string, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});
const NAMESPACE = object(resources.namespaces, "env-a");
const BINDING = object(resources.roleBindings, "operator-secrets", "env-a");

test("what is as it was written is not written again", async () => {
  const { applier, written } = aCluster();
  for (let pass = 0; pass < 3; pass++) for (const one of [NAMESPACE, BINDING]) await applier.apply(one, SIGNAL);
  expect(written).toEqual(["namespaces/env-a", "rolebindings/env-a/operator-secrets"]);
});

// Regression: the operator had no access to the Secrets of a namespace that was deleted and that it had created again.
test("the objects of a namespace that was created again are written again, also of kinds that are not watched", async () => {
  const { applier, there, written } = aCluster();
  const other = object(resources.roleBindings, "operator-secrets", "env-b");
  for (const one of [NAMESPACE, BINDING, other]) await applier.apply(one, SIGNAL);
  there.clear();
  written.length = 0;
  for (const one of [NAMESPACE, BINDING, other]) await applier.apply(one, SIGNAL);
  expect(written).toEqual(["namespaces/env-a", "rolebindings/env-a/operator-secrets"]);
});

test("unwatched objects are written again after a while, in case they were removed", async () => {
  const { applier, clock, there, written } = aCluster();
  await applier.apply(BINDING, SIGNAL);
  there.clear();
  clock.advanceBy(UNSEEN_TRUST_MS - 1);
  await applier.apply(BINDING, SIGNAL);
  expect(written).toHaveLength(1);
  clock.advanceBy(1);
  await applier.apply(BINDING, SIGNAL);
  expect(written).toHaveLength(2);
});

test("the operator gives way to a writer that removes an object again and again; its own removals do not count", async () => {
  const { applier, there, fights } = aCluster();
  const budget = object(resources.disruptionBudgets, "worker", "env-a");
  for (let n = 0; n <= FIGHT_REVERTS + 1; n++) {
    await applier.apply(budget, SIGNAL);
    applier.discardObject(resources.disruptionBudgets, "worker", "env-a");
    there.clear();
  }
  expect(fights).toEqual([]);
  for (let n = 0; n <= FIGHT_REVERTS; n++) {
    await applier.apply(budget, SIGNAL);
    there.clear();
  }
  expect(fights).toEqual(["PodDisruptionBudget"]);
});

// Regression: a StatefulSet whose template another writer changed was reverted for ever, because the partition of its rollout moved
// meanwhile.
test("the operator gives way to a writer that changes a set again and again, also while the partition of its rollout moves", async () => {
  const { applier, client, cached, fights } = aSet();
  await applier.apply(set("ours", 0), SIGNAL);
  for (let n = 1; n <= FIGHT_REVERTS; n++) {
    expect(fights).toEqual([]);
    await client.apply(set(`theirs ${n}`, n % 2 === 0 ? 1 : 0));
    // Their template rolls, which moves our partition.
    await applier.apply(set("ours", n % 2), SIGNAL);
    expect(cached()).toEqual(set("ours", n % 2)["spec"]);
  }
  expect(fights).toEqual(["StatefulSet"]);
});

test("neither the progress of a rollout nor a new template of ours counts as a change by another writer", async () => {
  const { applier, fights } = aSet();
  for (let n = 0; n <= 3 * FIGHT_REVERTS; n++) await applier.apply(set(`ours ${n / 3}`, n % 3), SIGNAL);
  expect(fights).toEqual([]);
});

// Regression: the quota of an environment was reported as fought over, because pods started while it was written again.
test("status writes of the quota controller are not a foreign change, in whatever order they arrive; changes of the spec are", async () => {
  const ours = { manager: "perdure-operator", operation: "Apply", time: "2026-01-01T00:00:00Z", fieldsV1: { "f:spec": {} } };
  const used = (n: number) => ({ manager: "kube-controller-manager", subresource: "status", time: `2026-01-01T00:00:0${n}Z` });
  let version = 0;
  let managedFields: object[] = [ours];
  let applied: object | undefined;
  const metadata = () => ({ name: "env", namespace: "env-a", uid: "uid-1", resourceVersion: `${version}`, managedFields });
  const fights: string[] = [];
  let writes = 0;
  const client = {
    apply: async () => {
      writes++;
      if (managedFields.length > 2) managedFields = [{ ...ours, time: `2026-01-01T00:01:0${writes}Z` }];
      version++; // Another pod came just before.
      return { metadata: metadata() };
    },
  };
  const applier = new ObjectApplier({
    client: client as unknown as KubernetesClient,
    cacheOf: () => ({ get: () => applied }) as unknown as ObjectCache,
    clock: new VirtualClock(),
    metrics: { driftReverts: { inc: () => {} } } as never,
    onFight: ({ kind }) => fights.push(kind),
  });
  const quota = object(resources.resourceQuotas, "env", "env-a");
  for (let n = 1; n <= 3 * FIGHT_REVERTS; n++) {
    await applier.apply(quota, SIGNAL);
    managedFields = [ours, used(n)];
    version++;
    applied = { metadata: metadata() };
  }
  expect([writes, fights]).toEqual([1, []]);
  for (let n = 1; n <= FIGHT_REVERTS; n++) {
    managedFields = [ours, used(n), { manager: "kubectl-edit", operation: "Update", fieldsV1: { "f:spec": {} } }];
    applied = { metadata: metadata() };
    await applier.apply(quota, SIGNAL);
  }
  expect(fights).toEqual(["ResourceQuota"]);
});

function set(template: string, partition: number): KubeObject {
  const spec = { template, updateStrategy: { rollingUpdate: { partition } } };
  return { ...object(resources.statefulSets, "worker", "env-a"), spec };
}

/** An API server with one StatefulSet, which counts changes of its spec. */
function aSet() {
  let there: KubeObject | undefined;
  const client = {
    apply: async (object: KubeObject) => {
      const { generation = 0 } = there?.metadata ?? {};
      const isChanged = JSON.stringify(there?.["spec"]) !== JSON.stringify(object["spec"]);
      there = { ...object, metadata: { ...object.metadata, uid: "uid-1", generation: isChanged ? generation + 1 : generation } };
      return { metadata: there.metadata };
    },
  };
  const fights: string[] = [];
  const applier = new ObjectApplier({
    client: client as unknown as KubernetesClient,
    cacheOf: () => ({ get: () => there }) as unknown as ObjectCache,
    clock: new VirtualClock(),
    metrics: { driftReverts: { inc: () => {} } } as never,
    onFight: ({ kind }) => fights.push(kind),
  });
  return { applier, client, cached: () => there?.["spec"], fights };
}
