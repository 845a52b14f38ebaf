import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type KubeObject, type MetadataOnly, type Resource, resources } from "@perdure/kubernetes";
import { Metrics } from "@perdure/telemetry";
import { eventually } from "./eventually.js";
import { conditionOf, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

let world: World;
const metrics = new Metrics();

beforeAll(async () => {
  world = await World.start();
  world.startOperator({}, metrics);
}, FIRST_MS);
afterAll(() => world[Symbol.asyncDispose](), TEST_MS);

const CHILDREN: readonly Resource[] = [
  resources.serviceAccounts,
  resources.secrets,
  resources.configMaps,
  resources.resourceQuotas,
  resources.limitRanges,
  resources.networkPolicies,
  resources.services,
  resources.statefulSets,
  resources.deployments,
  resources.disruptionBudgets,
];

async function childrenOf(namespace: string): Promise<MetadataOnly[]> {
  const children: MetadataOnly[] = [];
  for (const resource of CHILDREN) {
    const { items } = await world.client.list<KubeObject>(resource, { namespace });
    for (const { metadata } of items) {
      children.push({ metadata: { ...metadata, name: `${resource.plural}/${metadata.name}` } });
    }
  }
  return children;
}

const named = (children: readonly MetadataOnly[]): string[] => children.map(({ metadata }) => metadata.name).sort();

test(
  "an environment that is created becomes a namespace with everything in it, network policies first, and is ready when its pods are",
  async () => {
    const made = await world.create({ size: "medium" });
    const ready = await world.untilReady(made);
    const namespace = made.metadata.name;
    const children = (await childrenOf(namespace)).filter(
      ({ metadata }) => !/kube-root-ca|serviceaccounts\/default$/.test(metadata.name),
    );
    expect(named(children)).toMatchInlineSnapshot(`
[
  "configmaps/runtime-config",
  "deployments/front",
  "limitranges/env",
  "networkpolicies/default",
  "networkpolicies/front",
  "networkpolicies/redis",
  "networkpolicies/worker",
  "poddisruptionbudgets/front",
  "poddisruptionbudgets/worker",
  "resourcequotas/env",
  "secrets/grpc-authority",
  "secrets/grpc-tls",
  "secrets/postgres",
  "secrets/postgres-role",
  "secrets/redis-auth",
  "secrets/signing-key",
  "serviceaccounts/front",
  "serviceaccounts/redis",
  "serviceaccounts/worker",
  "services/redis-headless",
  "services/registry",
  "services/runtime",
  "services/worker-headless",
  "statefulsets/redis",
  "statefulsets/worker",
]
`);
    for (const { metadata } of children.filter(({ metadata: { name } }) => !/secrets\/(signing-key|redis-auth)/.test(name))) {
      expect([metadata.name, metadata.ownerReferences?.[0]?.uid]).toEqual([metadata.name, made.metadata.uid]);
      expect(metadata.labels).toMatchObject({ "perdure.dev/environment": made.spec.environmentId.slice(4) });
    }
    const revision = (name: string): number =>
      Number(children.find(({ metadata }) => metadata.name === name)?.metadata.resourceVersion);
    expect(revision("networkpolicies/default")).toBeLessThan(revision("statefulsets/worker"));
    expect(ready.status).toMatchObject({
      phase: "Running",
      observedGeneration: ready.metadata.generation,
      host: `${made.spec.environmentId.slice(4)}.env.eu.example.org`,
      workers: { ready: 2, replicas: 2, summary: "2/2" },
      version: { current: "1.4.0", target: "1.4.0", history: ["1.4.0"] },
      signingKey: { publicKeys: [expect.stringMatching(/^publickeyv1_/)] },
    });
    expect(ready.metadata.finalizers).toEqual(["perdure.dev/environment"]);
  },
  TEST_MS,
);

test(
  "a pass that finds nothing to do writes nothing",
  async () => {
    const made = await world.create();
    await world.untilReady(made);
    const versions = async () =>
      (await childrenOf(made.metadata.name)).map(({ metadata }) => [metadata.name, metadata.resourceVersion]);
    let revision = 0;
    // When the environment is ready, controllers still write the statuses of its objects; wait until they have finished.
    await eventually(async () => {
      const before = await versions();
      const reconcilesBefore = reconcileCount();
      // A change of a label triggers a pass without any other effect.
      await world.kubernetes.request({
        method: "PATCH",
        path: `/apis/perdure.dev/v1alpha1/environments/${made.metadata.name}`,
        body: { metadata: { labels: { checked: String(++revision) } } },
      });
      await eventually(async () => reconcileCount() > reconcilesBefore);
      return JSON.stringify(await versions()) === JSON.stringify(before);
    });
  },
  TEST_MS,
);

function reconcileCount(): number {
  return Number(/perdure_operator_reconciles_total\{kind="Environment",result="ok"\} (\d+)/.exec(metrics.text())?.[1] ?? 0);
}

test(
  "a removed or changed object is restored, and fields of another manager stay as they are",
  async () => {
    const made = await world.create();
    await world.untilReady(made);
    const namespace = made.metadata.name;
    const gone = await world.client.get(resources.networkPolicies, "redis", namespace);
    await world.client.delete(resources.networkPolicies, "redis", namespace);
    await eventually(async () => {
      const again = await world.client.find(resources.networkPolicies, "redis", namespace);
      return again !== undefined && again.metadata.uid !== gone.metadata.uid;
    });
    const path = `/apis/apps/v1/namespaces/${namespace}/statefulsets/worker`;
    const injected = { name: "sidecar", image: "theirs" };
    const template = {
      metadata: { annotations: { theirs: "yes" } },
      spec: { containers: [{ name: "worker", image: "evil" }, injected] },
    };
    const contentType = "application/strategic-merge-patch+json";
    await world.kubernetes.request({ method: "PATCH", path, contentType, body: { spec: { template } } });
    interface Pods {
      readonly template: {
        readonly metadata: { readonly annotations: object };
        readonly spec: { readonly containers: readonly object[] };
      };
    }
    const podsOf = async () => ((await world.client.get(resources.statefulSets, "worker", namespace))["spec"] as Pods).template;
    await eventually(async () => JSON.stringify(await podsOf()).includes("perdure-worker:1.4.0"));
    const pods = await podsOf();
    expect(pods.metadata.annotations).toMatchObject({ theirs: "yes" });
    expect(pods.spec.containers).toEqual([expect.objectContaining({ name: "worker" }), expect.objectContaining(injected)]);
    expect(metrics.text()).toMatch(/perdure_operator_drift_reverts_total\{kind="StatefulSet"\} 1/);
  },
  TEST_MS,
);

test(
  "workers are removed one by one, each when the one before is gone; a budget exists from the second on",
  async () => {
    const made = await world.create({ workers: { replicas: 3 } });
    await world.untilReady(made);
    const namespace = made.metadata.name;
    expect(await world.client.find(resources.disruptionBudgets, "worker", namespace)).toBeDefined();
    world.kubelet.holdEnds(true);
    await world.change(made, { workers: { replicas: 1 } });
    const draining = await world.until(namespace, (one) => one?.status?.phase === "Draining");
    expect(draining.status?.workers?.drainingOrdinal).toBe(2);
    expect((await world.client.get(resources.statefulSets, "worker", namespace))["spec"]).toMatchObject({ replicas: 2 });
    world.kubelet.holdEnds(false);
    await world.until(
      namespace,
      (one) => one?.status?.workers?.summary === "1/1" && conditionOf(one, "Ready")?.status === "True",
    );
    await eventually(async () => (await world.client.find(resources.disruptionBudgets, "worker", namespace)) === undefined);
  },
  TEST_MS,
);

test(
  "suspended, nothing runs and all data stays; the same key signs when it is resumed",
  async () => {
    const made = await world.create();
    const { status } = await world.untilReady(made);
    await world.change(made, { suspended: true });
    const asleep = await world.until(made.metadata.name, (one) => one?.status?.phase === "Suspended");
    expect(conditionOf(asleep, "Ready")).toMatchObject({ status: "False", reason: "Suspended" });
    await eventually(async () => world.kubelet.pods(made.metadata.name).length === 0);
    expect(await world.client.find(resources.volumeClaims, "data-redis-0", made.metadata.name)).toBeDefined();
    await world.change(made, { suspended: false });
    const awake = await world.untilReady(made);
    expect(awake.status?.signingKey).toEqual(status?.signingKey);
  },
  TEST_MS,
);

test(
  "a reference to a missing object is reported, and triggers the environment when the object is created",
  async () => {
    const made = await world.create({ postgres: { secretRef: { name: "later", key: "url" } } });
    const waiting = await world.until(made.metadata.name, (one) => conditionOf(one, "Accepted")?.status === "False");
    expect(conditionOf(waiting, "Ready")).toMatchObject({
      reason: "InvalidReference",
      message: "key 'url' of Secret 'later' is not there",
    });
    const metadata = { name: "later", namespace: OPERATOR_NAMESPACE };
    const data = { url: Buffer.from("postgres://later").toString("base64") };
    await world.client.create({ apiVersion: "v1", kind: "Secret", metadata, data });
    await world.untilReady(made);
  },
  TEST_MS,
);

test(
  "a namespace of another owner is left alone",
  async () => {
    const id = "env_0123456789taken";
    const name = "env-0123456789taken";
    await world.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { theirs: "yes" } } });
    await world.create({}, id);
    const refused = await world.until(name, (one) => conditionOf(one, "NamespaceReady") !== undefined);
    expect(conditionOf(refused, "NamespaceReady")).toMatchObject({ status: "False", reason: "NotOwned" });
    expect((await world.client.get(resources.namespaces, name)).metadata.labels).toEqual({
      theirs: "yes",
      "kubernetes.io/metadata.name": name,
    });
    expect((await world.client.list(resources.networkPolicies, { namespace: name })).items).toEqual([]);
  },
  TEST_MS,
);

test(
  "minor versions are not skipped: everything runs as before, and the reason is reported",
  async () => {
    const made = await world.create();
    await world.untilReady(made);
    await world.change(made, { version: "1.6.0" });
    const refused = await world.until(made.metadata.name, (one) => conditionOf(one, "Accepted")?.status === "False");
    expect(conditionOf(refused, "Accepted")).toMatchObject({ reason: "VersionSkip" });
    await world.change(made, { version: "1.5.0" });
    await world.until(made.metadata.name, (one) => one?.status?.version?.current === "1.5.0");
  },
  TEST_MS,
);

test(
  "deleted, its data stays by default, and is not adopted by accident",
  async () => {
    const made = await world.create();
    const { status } = await world.untilReady(made);
    const { name } = made.metadata;
    await world.delete(made);
    await world.until(name, (one) => one === undefined);
    await eventually(async () => world.kubelet.pods(name).length === 0);
    expect(await world.client.find(resources.volumeClaims, "data-redis-0", name)).toBeDefined();
    expect(await world.client.find(resources.secrets, "signing-key", name)).toBeDefined();
    const note = await world.client.get(resources.configMaps, `retained-${name}`, OPERATOR_NAMESPACE);
    expect(note["data"]).toMatchObject({
      environmentId: made.spec.environmentId,
      uid: made.metadata.uid,
      volumeClaims: "data-redis-0",
    });

    const again = await world.create({}, made.spec.environmentId);
    const refused = await world.until(name, (one) => conditionOf(one, "NamespaceReady")?.reason === "RetainedData");
    expect(conditionOf(refused, "NamespaceReady")?.message).toContain(`perdure.dev/adopt-retained: "${made.metadata.uid}"`);
    const body = { metadata: { annotations: { "perdure.dev/adopt-retained": made.metadata.uid } } };
    await world.kubernetes.request({ method: "PATCH", path: `/apis/perdure.dev/v1alpha1/environments/${name}`, body });
    const adopted = await world.untilReady(again);
    expect(adopted.status?.signingKey).toEqual(status?.signingKey);
  },
  TEST_MS,
);

test(
  "data is deleted only when both fields say so, and the finalizer is removed last",
  async () => {
    const made = await world.create({ reclaimPolicy: "Delete" });
    await world.untilReady(made);
    const { name } = made.metadata;
    await world.delete(made);
    const blocked = await world.until(name, (one) => conditionOf(one, "Deleting")?.reason === "DeletionBlocked");
    expect(blocked.status?.phase).toBe("Deleting");
    expect(await world.client.find(resources.statefulSets, "worker", name)).toBeDefined();
    await world.change(made, { deletionProtection: false });
    await world.until(name, (one) => one === undefined);
    expect(await world.client.find(resources.namespaces, name)).toBeUndefined();
  },
  TEST_MS,
);
