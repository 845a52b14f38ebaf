/**
 * Refusals of the API server, obstacles, and references of an environment: reported in its conditions, without an effect on other
 * environments.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type ApplyOptions,
  connectKubernetes,
  type KubeObject,
  KubernetesApiError,
  type KubernetesClient,
  type MetadataOnly,
  resources,
} from "@perdure/kubernetes";
import { freePorts, startRedis } from "@perdure/servers";
import { Metrics } from "@perdure/telemetry";
import { cell, OPERATOR_USER } from "./cell.js";
import { eventually } from "./eventually.js";
import { clusterRules, snapshotRules } from "./rbac.js";
import { conditionOf, OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
/** Long enough for a loop that does not pause to show itself. */
const QUIET_MS = 4_000;

/** The first writes of a status are conflicts, as with another writer at the same moment. */
let conflictsLeft = 3;

function busyClient(kubeconfig: string): KubernetesClient {
  const made = connectKubernetes(kubeconfig, (verb, plural, status) => void requests.push(`${verb} ${plural} ${status}`));
  const apply = made.apply.bind(made);
  made.apply = async <T extends MetadataOnly = KubeObject>(object: KubeObject, options: ApplyOptions): Promise<T> => {
    if (options.subresource === "status" && conflictsLeft > 0) {
      conflictsLeft--;
      throw new KubernetesApiError(
        "patch environments",
        409,
        JSON.stringify({ reason: "Conflict", message: "another writer was faster" }),
      );
    }
    return apply<T>(object, options);
  };
  return made;
}

let world: World;
let client: KubernetesClient;
const metrics = new Metrics();

beforeAll(async () => {
  world = await World.start();
  client = busyClient(world.kubernetes.kubeconfig(OPERATOR_USER));
  const pulling = { ...cell, imagePullSecrets: ["mirror"] };
  world.startOperator({ cell: pulling }, metrics, { client });
}, FIRST_MS);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
}, TEST_MS);

/** Requests of the operator so far. */
const requests: string[] = [];
const countOf = (pattern: RegExp): number => requests.filter((one) => pattern.test(one)).length;

test(
  "a status that another writer changes at the same moment is written again, and is right in the end",
  async () => {
    const made = await world.create();
    const ready = await world.untilReady(made);
    expect(conflictsLeft).toBe(0);
    expect(ready.status).toMatchObject({ phase: "Running", observedGeneration: made.metadata.generation });
    expect(metrics.text()).toMatch(/perdure_operator_reconcile_errors_total\{kind="Environment",error="conflict"\} 3/);
  },
  TEST_MS,
);

test(
  "what the API server finds invalid is reported, and not tried again until the object changes",
  async () => {
    const partly = { partitions: 4, replicas: 1 };
    const made = await world.create({ workers: { ...partly, podLabels: { "not a label": "x" } } });
    const refused = await world.until(made.metadata.name, (one) => conditionOf(one, "WorkersReady")?.reason === "Invalid");
    expect(conditionOf(refused, "WorkersReady")?.message).toMatch(/statefulsets: 422/);
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS / 2)); // What was set off by its own status is over.
    const before = countOf(/patch statefulsets 422/);
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    expect(countOf(/patch statefulsets 422/) - before).toBeLessThanOrEqual(1);
    await world.change(made, { workers: { ...partly, podLabels: null } });
    await world.untilReady(made);
  },
  TEST_MS,
);

test(
  "a right that is missing for one kind is reported by name, and environments that do not need it continue",
  async () => {
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/perdure-operator";
    const all = [...clusterRules, ...snapshotRules];
    const patch = (rules: unknown) => world.kubernetes.request({ method: "PATCH", path, body: { rules } });
    await patch(all.filter(({ apiGroups }) => !apiGroups.includes("policy")));
    try {
      const [needs, doesNot] = [await world.create({ workers: { replicas: 2 } }), await world.create()];
      const forbidden = await world.until(needs.metadata.name, (one) => conditionOf(one, "WorkersReady")?.reason === "Forbidden");
      expect(conditionOf(forbidden, "WorkersReady")?.message).toMatch(/patch poddisruptionbudgets: 403/);
      expect(await world.client.find(resources.deployments, "front", needs.metadata.name)).toBeDefined();
      await world.untilReady(doesNot);
    } finally {
      await patch(all);
    }
  },
  TEST_MS,
);

test(
  "a namespace that is still going is waited for, and made anew",
  async () => {
    const id = "env_0123456789going";
    const name = "env-0123456789going";
    const labels = { "perdure.dev/environment": "0123456789going" };
    await world.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    const held = { name: "held", namespace: name, finalizers: ["example.org/held"] };
    await world.client.create({ apiVersion: "v1", kind: "ConfigMap", metadata: held });
    await world.client.delete(resources.namespaces, name, undefined);
    const made = await world.create({}, id);
    await world.until(name, (one) => conditionOf(one, "NamespaceReady")?.reason === "Terminating");
    const operations = [{ op: "remove", path: "/metadata/finalizers" }] as const;
    await world.client.patch(resources.configMaps, { name: "held", namespace: name }, operations);
    await world.untilReady(made);
  },
  TEST_MS,
);

test(
  "a pod of Redis that does not start is a reason of its own, until it starts",
  async () => {
    const made = await world.create();
    const { name } = made.metadata;
    await world.untilReady(made);
    world.kubelet.breakPods(({ metadata }) => metadata.name === "redis-0" && metadata.namespace === name);
    try {
      await world.client.delete(resources.pods, "redis-0", name, { gracePeriodSeconds: 0 });
      const broken = await world.until(name, (one) => conditionOf(one, "StorageReady")?.reason === "CrashLoop");
      expect(conditionOf(broken, "StorageReady")?.message).toMatch(/^redis-0: CrashLoopBackOff/);
      expect(conditionOf(broken, "Ready")).toMatchObject({ status: "False", reason: "CrashLoop" });
    } finally {
      world.kubelet.breakPods(() => false);
    }
    await world.untilReady(made);
  },
  TEST_MS,
);

describe("what an environment refers to", () => {
  const secret = (name: string, data: Readonly<Record<string, string>>, type = "Opaque"): KubeObject => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: OPERATOR_NAMESPACE },
    type,
    data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")])),
  });
  const put = (object: KubeObject) => world.client.apply(object, { manager: "test", force: true });
  const dataOf = async (name: string, namespace: string): Promise<Readonly<Record<string, string>>> => {
    const object = await world.client.get(resources.secrets, name, namespace);
    const data = object["data"] as Readonly<Record<string, string>>;
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
  };
  const hashOfPods = async (namespace: string): Promise<string | undefined> => {
    const set = (await world.client.get(resources.statefulSets, "worker", namespace)) as KubeObject & {
      readonly spec: { readonly template: { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } } };
    };
    return set.spec.template.metadata.annotations["perdure.dev/secrets-hash"];
  };

  test(
    "is copied to where its pods are, and a change of it rolls them",
    async () => {
      const pull = '{"auths":{}}';
      await put(secret("mirror", { ".dockerconfigjson": pull }, "kubernetes.io/dockerconfigjson"));
      await put(secret("authorities", { one: "ONE", two: "TWO" }));
      const trustedCAs = ["one", "two"].map((key) => ({ name: "authorities", key }));
      const made = await world.create({ security: { trustedCAs } });
      await world.untilReady(made);
      const namespace = made.metadata.name;
      expect(await dataOf("trusted-cas", namespace)).toEqual({ "bundle.pem": "ONE\nTWO\n" });
      expect(await dataOf("mirror", namespace)).toEqual({ ".dockerconfigjson": pull });
      expect(await world.client.get(resources.secrets, "mirror", namespace)).toMatchObject({
        type: "kubernetes.io/dockerconfigjson",
      });
      const tls = await dataOf("grpc-tls", namespace);
      expect(Object.keys(tls).sort()).toEqual(["ca.crt", "tls.crt", "tls.key"]);
      expect(await dataOf("grpc-authority", namespace)).toMatchObject({ "ca.crt": tls["ca.crt"] });

      const before = await hashOfPods(namespace);
      await put(secret("authorities", { one: "ONE", two: "ANOTHER" }));
      await eventually(async () => (await hashOfPods(namespace)) !== before);
      expect(await dataOf("trusted-cas", namespace)).toEqual({ "bundle.pem": "ONE\nANOTHER\n" });
      expect(await dataOf("grpc-tls", namespace)).toEqual(tls);
    },
    TEST_MS,
  );

  test(
    "a Redis of its own: whether it answers, lets us in and keeps what it is given",
    async () => {
      await using redis = await startRedis({ password: "secret", config: { appendonly: "no" } });
      const [closed] = (await freePorts(1)) as [number];
      await put(secret("redis", { url: `redis://127.0.0.1:${closed}` }));
      const made = await world.create({ redis: { external: { secretRef: { name: "redis", key: "url" } } } });
      const { name } = made.metadata;
      await world.until(name, (one) => conditionOf(one, "StorageReady")?.reason === "RedisUnreachable");
      await put(secret("redis", { url: `redis://:wrong@127.0.0.1:${redis.port}` }));
      const refused = await world.until(name, (one) => conditionOf(one, "StorageReady")?.reason === "AuthFailed");
      expect(JSON.stringify(refused.status)).not.toContain("wrong@");
      await put(secret("redis", { url: `redis://:secret@127.0.0.1:${redis.port}` }));
      const ready = await world.untilReady(made);
      expect(conditionOf(ready, "StorageReady")).toMatchObject({ status: "True", reason: "External" });
      expect(conditionOf(ready, "DurabilityReduced")).toMatchObject({ status: "True", reason: "NoAppendOnlyFile" });
      expect(await world.client.find(resources.statefulSets, "redis", name)).toBeUndefined();
    },
    TEST_MS,
  );
});
