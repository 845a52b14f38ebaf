import { expect, test } from "@jest/globals";
import {
  type KubeObject,
  type KubernetesClient,
  keyOf,
  type ObjectCache,
  type Resource,
  resourceOf,
  resources,
} from "@perdure/driver-kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { Applier } from "./applier.js";
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
  const applier = new Applier({ client, cacheOf, clock, metrics: metrics as never, onFight: ({ kind }) => fights.push(kind) });
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

// Seen: the operator was never let at the Secrets of a namespace that somebody had deleted and that it had made anew.
test("a namespace that is another one than before is furnished anew, also with what is not watched", async () => {
  const { applier, there, written } = aCluster();
  const other = object(resources.roleBindings, "operator-secrets", "env-b");
  for (const one of [NAMESPACE, BINDING, other]) await applier.apply(one, SIGNAL);
  there.clear();
  written.length = 0;
  for (const one of [NAMESPACE, BINDING, other]) await applier.apply(one, SIGNAL);
  expect(written).toEqual(["namespaces/env-a", "rolebindings/env-a/operator-secrets"]);
});

test("what is not watched is written again after a while, in case somebody removed it", async () => {
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

test("who removes an object again and again is given way to; what we removed ourselves was removed by nobody", async () => {
  const { applier, there, fights } = aCluster();
  const budget = object(resources.disruptionBudgets, "worker", "env-a");
  for (let n = 0; n <= FIGHT_REVERTS + 1; n++) {
    await applier.apply(budget, SIGNAL);
    applier.forgetObject(resources.disruptionBudgets, "worker", "env-a");
    there.clear();
  }
  expect(fights).toEqual([]);
  for (let n = 0; n <= FIGHT_REVERTS; n++) {
    await applier.apply(budget, SIGNAL);
    there.clear();
  }
  expect(fights).toEqual(["PodDisruptionBudget"]);
});
