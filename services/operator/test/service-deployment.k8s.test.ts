/** Services in a cluster, version by version: real API server and controllers, a real Perdure that they are registered at, code behind the SDK. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { type KubeObject, resources } from "@perdure/kubernetes";
import * as restate from "@restatedev/restate-sdk";
import {
  aService,
  conditionIn,
  greeter,
  nameOfVersion,
  POLL_MS,
  Runtime,
  type ServiceInput,
  type Status,
  statusOf,
} from "./services.js";
import { World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const SOON_MS = 60_000;

let world: World;
let runtime: Runtime;

beforeAll(async () => {
  [world, runtime] = await Promise.all([World.start(), Runtime.start()]);
  const operator = world.startOperator({ addresses: runtime.addresses, drainPollMs: POLL_MS });
  // Kinds that were defined just now are served a moment later.
  await operator.untilWatching(AbortSignal.timeout(TEST_MS));
}, FIRST_MS);
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await runtime?.[Symbol.asyncDispose]();
}, TEST_MS);

async function aNamespace(): Promise<string> {
  const name = `services-${randomBytes(4).toString("hex")}`;
  await world.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return name;
}

/** Objects have names in lower case, services as they like. */
const service = (input: ServiceInput): KubeObject =>
  aService({ ...input, name: input.name.toLowerCase() }, runtime.server.adminUrl);
const apply = (object: KubeObject): Promise<KubeObject> => world.client.apply(object, { manager: "people", force: true });
const until = (object: KubeObject, what: string, holds: (status: Status) => boolean, withinMs = SOON_MS): Promise<Status> =>
  eventually(
    what,
    async () => {
      const status = await statusOf(world.client, object);
      if (!holds(status)) throw new Error(JSON.stringify(status));
      return status;
    },
    withinMs,
  );
const isReady = (status: Status): boolean => conditionIn(status, "Ready")?.status === "True";
const untilVersion = (object: KubeObject): Promise<Status> => {
  const hash = nameOfVersion(object).slice(-10);
  return until(object, `version ${hash}`, (status) => isReady(status) && status.versions?.[0]?.hash === hash);
};
const stateOf = (status: Status, name: string) => status.versions?.find(({ hash }) => name.endsWith(hash));
const setOf = (name: string, namespace: string) =>
  world.client.find<KubeObject & { spec: { replicas: number } }>(resources.replicaSets, name, namespace);

async function reasonsOf(namespace: string): Promise<string[]> {
  const { items } = await world.client.list<KubeObject & { reason?: string; note?: string }>(resources.events, { namespace });
  return items.map(({ reason = "", note = "" }) => `${reason}: ${note}`);
}

test(
  "a new template is a new version that is called once its pods are ready; the old one drains and is removed",
  async () => {
    const namespace = await aNamespace();
    const held: string[] = [];
    const first = service({ name: "shop", namespace, image: "shop:1", spec: { replicas: 2 } });
    const oldName = await runtime.serve(first, greeter("Shop", "one", held));
    await apply(first);
    const before = await untilVersion(first);
    expect(before).toMatchObject({ replicas: 2, readyReplicas: 2, availableReplicas: 2, drainingVersions: 0 });
    expect(await runtime.call("Shop", "greet")).toBe("one");
    await runtime.send("Shop", "hold");
    await eventually("the invocation holds", () => held.length > 0);

    const second = service({ name: "shop", namespace, image: "shop:2", spec: { replicas: 2 } });
    await runtime.serve(second, greeter("Shop", "two"));
    world.kubelet.breakPods((pod) => JSON.stringify(pod["spec"]).includes("shop:2"));
    await apply(second);
    const waiting = await until(
      second,
      "the new version waits",
      (status) => conditionIn(status, "Registered")?.reason === "NotReady",
    );
    expect(waiting.deploymentId).toBe(before.deploymentId);
    expect(await runtime.call("Shop", "greet")).toBe("one");
    world.kubelet.breakPods(() => false);
    const during = await untilVersion(second);
    expect(during.deploymentId).not.toBe(before.deploymentId);
    expect(await runtime.call("Shop", "greet")).toBe("two");
    const draining = await until(second, "the old version drains", (status) => stateOf(status, oldName)?.state === "Draining");
    expect(stateOf(draining, oldName)).toMatchObject({ activeInvocations: 1, replicas: 2, deploymentId: before.deploymentId });
    expect(conditionIn(draining, "Draining")).toMatchObject({ status: "True", reason: "InUse" });

    await runtime.resolve(held[0] as string);
    const after = await until(second, "the old version is retired", (status) => stateOf(status, oldName)?.state === "Retired");
    expect(after.drainingVersions).toBe(0);
    expect((await setOf(oldName, namespace))?.spec.replicas).toBe(0);
    expect(await reasonsOf(namespace)).toContainEqual(expect.stringMatching(/^Registered: version /));
  },
  TEST_MS,
);

/** Two versions, of which the first is retired. */
async function twoVersions(name: string, namespace: string, more: Partial<ServiceInput> = {}, held: string[] = []) {
  const first = service({ ...more, name, namespace, image: `${name}:1` });
  const oldName = await runtime.serve(first, greeter(name, "one", held));
  await apply(first);
  await untilVersion(first);
  const second = service({ ...more, name, namespace, image: `${name}:2` });
  await runtime.serve(second, greeter(name, "two", held));
  return { first, second, oldName };
}

test(
  "a version that is used again is kept: the date of its removal is deleted, its pods come back",
  async () => {
    const namespace = await aNamespace();
    const held: string[] = [];
    const delayed = { perdure: { drainDelaySeconds: 600 } };
    const { second, oldName } = await twoVersions("Again", namespace, delayed, held);
    const id = await runtime.send("Again", "hold");
    await eventually("the invocation holds", () => held.length === 1);
    await apply(second);
    await until(second, "the old version drains", (status) => stateOf(status, oldName)?.state === "Draining");
    await runtime.resolve(held[0] as string);
    const idle = await until(second, "the old version is idle", (status) => stateOf(status, oldName)?.state === "Idle");
    expect(Date.parse(stateOf(idle, oldName)?.removeAfter ?? "")).toBeGreaterThan(Date.now() + 500_000);
    expect((await setOf(oldName, namespace))?.metadata.annotations).toHaveProperty(["perdure.dev/remove-after"]);

    // A copy of what ended there runs there again.
    expect(await runtime.admin("PATCH", `/invocations/${id}/restart-as-new?deployment=keep&from=1`)).toBe(200);
    await until(second, "the old version drains again", (status) => stateOf(status, oldName)?.state === "Draining");
    expect((await setOf(oldName, namespace))?.metadata.annotations).not.toHaveProperty(["perdure.dev/remove-after"]);
    await runtime.resolve(held.at(-1) as string);
  },
  TEST_MS,
);

test(
  "going back to an old template uses its version again, with its deployment; its autoscaler is removed",
  async () => {
    const namespace = await aNamespace();
    const held: string[] = [];
    const drainAutoscaling = { minReplicas: 1, maxReplicas: 3 };
    const { first, second, oldName } = await twoVersions("Back", namespace, { spec: { drainAutoscaling } }, held);
    const before = await setOf(oldName, namespace);
    const { deploymentId } = await statusOf(world.client, first);
    await runtime.send("Back", "hold");
    await eventually("the invocation holds", () => held.length === 1);
    await apply(second);
    const autoscaler = () => world.client.find(resources.autoscalers, oldName, namespace);
    await eventually("the old version has an autoscaler", async () => (await autoscaler()) !== undefined);
    expect(await autoscaler()).toMatchObject({ spec: { minReplicas: 1, maxReplicas: 3, scaleTargetRef: { name: oldName } } });
    expect(await runtime.call("Back", "greet")).toBe("two");

    await apply(first);
    const back = await untilVersion(first);
    expect(back.deploymentId).toBe(deploymentId);
    expect((await setOf(oldName, namespace))?.metadata.uid).toBe(before?.metadata.uid);
    await eventually("its autoscaler is gone", async () => (await autoscaler()) === undefined);
    expect(await runtime.call("Back", "greet")).toBe("one");
    await runtime.resolve(held[0] as string);
  },
  TEST_MS,
);

test(
  "a name of another owner is left alone; another one is used",
  async () => {
    const namespace = await aNamespace();
    const desired = service({ name: "clash", namespace, image: "clash:1" });
    const name = nameOfVersion(desired);
    const labels = { theirs: "yes" };
    const theirs = await world.client.create({
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name, namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "theirs", image: "theirs" }] } },
      },
    });
    const other = nameOfVersion(desired, undefined, 1);
    expect(other).not.toBe(name);
    await runtime.serveAt(namespace, other, greeter("Clash", "one"));
    await apply(desired);
    const status = await until(desired, "it is ready under another name", isReady);
    expect(status).toMatchObject({ collisionCount: 1, versions: [{ hash: other.slice(-10), state: "Latest" }] });
    const untouched = (await setOf(name, namespace))?.metadata;
    expect(untouched).toMatchObject({ uid: theirs.metadata.uid, generation: theirs.metadata.generation });
    expect(untouched?.ownerReferences).toBeUndefined();
    expect(await reasonsOf(namespace)).toContainEqual(expect.stringMatching(/^HashCollision: /));
  },
  TEST_MS,
);

test(
  "a registration that is refused is reported with its message, and tried again until it works",
  async () => {
    const namespace = await aNamespace();
    const { second, first } = await twoVersions("Breaking", namespace);
    const kind = restate.object({ name: "Breaking", handlers: { greet: async () => "object" } });
    const name = nameOfVersion(second);
    await runtime.serveAt(namespace, name, [kind]);
    await apply(second);
    const refused = await until(
      second,
      "it is refused",
      (one) => conditionIn(one, "Registered")?.reason === "RegistrationRefused",
    );
    const { message = "" } = conditionIn(refused, "Registered") ?? {};
    expect(message).toMatch(/META0006.*Breaking/);
    expect(conditionIn(refused, "Ready")).toMatchObject({ status: "False", message });
    expect(await reasonsOf(namespace)).toContainEqual(`RegistrationRefused: ${message}`);
    expect(refused.deploymentId).toBe((await statusOf(world.client, first)).deploymentId);

    await runtime.serveAt(namespace, name, greeter("Breaking", "mended"));
    await untilVersion(second);
    expect(await runtime.call("Breaking", "greet")).toBe("mended");
  },
  TEST_MS,
);

test(
  "an autoscaler of the service sees the pods of the latest version only",
  async () => {
    const namespace = await aNamespace();
    const held: string[] = [];
    const { second, oldName } = await twoVersions("Scaled", namespace, {}, held);
    await runtime.send("Scaled", "linger");
    await eventually("the invocation holds", () => held.length === 1);
    await apply(second);
    await until(second, "the old version drains", (status) => stateOf(status, oldName)?.state === "Draining");
    const path = `/apis/perdure.dev/v1alpha1/namespaces/${namespace}/servicedeployments/scaled/scale`;
    const { text } = await world.kubernetes.request({ path });
    const hash = nameOfVersion(second).slice(-10);
    expect(JSON.parse(text)).toMatchObject({
      spec: { replicas: 1 },
      status: { replicas: 1, selector: `app=scaled,perdure.dev/template-hash=${hash}` },
    });
    expect(world.kubelet.pods(namespace)).toHaveLength(2);
    const { status } = await world.kubernetes.request({ method: "PATCH", path, body: { spec: { replicas: 2 } } });
    expect(status).toBe(200);
    await until(second, "two pods of the latest", (one) => one.availableReplicas === 2);
    expect((await setOf(oldName, namespace))?.spec.replicas).toBe(1);
    await runtime.resolve(held[0] as string);
  },
  TEST_MS,
);

test(
  "deleted while invocations need it, it waits for them; an annotation with another uid changes nothing",
  async () => {
    const namespace = await aNamespace();
    const held: string[] = [];
    const one = service({ name: "leaving", namespace, image: "leaving:1" });
    await runtime.serve(one, greeter("Leaving", "one", held));
    await apply(one);
    const { deploymentId } = await untilVersion(one);
    await runtime.send("Leaving", "hold");
    await eventually("the invocation holds", () => held.length === 1);
    const path = `/apis/perdure.dev/v1alpha1/namespaces/${namespace}/servicedeployments/leaving`;
    const annotate = (uid: string) =>
      world.kubernetes.request({
        method: "PATCH",
        path,
        body: { metadata: { annotations: { "perdure.dev/force-delete": uid } } },
      });
    await annotate("00000000-0000-0000-0000-000000000000");
    await world.client.delete(resources.serviceDeployments, "leaving", namespace);
    const blocked = await until(one, "it waits", (status) => conditionIn(status, "Draining")?.reason === "InUse");
    expect(conditionIn(blocked, "Draining")?.message).toContain(deploymentId);
    await runtime.resolve(held[0] as string);
    const isGone = async () => (await world.client.find(resources.serviceDeployments, "leaving", namespace)) === undefined;
    await eventually("it is gone", isGone, SOON_MS);
    expect(await runtime.admin("GET", `/deployments/${deploymentId}`)).toBe(404);
    await eventually("its pods are gone", () => world.kubelet.pods(namespace).length === 0, SOON_MS);

    await apply(one);
    await untilVersion(one);
    await runtime.send("Leaving", "hold");
    await eventually("the invocation holds", () => held.length === 2);
    await world.client.delete(resources.serviceDeployments, "leaving", namespace);
    await until(one, "it waits", (status) => conditionIn(status, "Draining")?.reason === "InUse");
    const { metadata } = await world.client.get(resources.serviceDeployments, "leaving", namespace);
    await annotate(metadata.uid ?? "");
    await eventually("it is gone by force", isGone, SOON_MS);
  },
  TEST_MS,
);

test(
  "old unused versions are removed for a new one when the limit is reached",
  async () => {
    const namespace = await aNamespace();
    const held: string[] = [];
    const { second, oldName } = await twoVersions("Room", namespace, {}, held);
    await runtime.send("Room", "hold");
    await eventually("the invocation holds", () => held.length === 1);
    await apply(second);
    await untilVersion(second);
    // As many pods as there are.
    const hard = { pods: "2" };
    await world.client.create({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "full", namespace }, spec: { hard } });
    await eventually("the quota counts", async () => {
      const quota = await world.client.get<KubeObject & { status?: { used?: { pods?: string } } }>(
        resources.resourceQuotas,
        "full",
        namespace,
      );
      return quota.status?.used?.pods === "2";
    });
    const third = service({ name: "Room", namespace, image: "room:3" });
    await runtime.serve(third, greeter("Room", "three"));
    await apply(third);
    await until(third, "it is unschedulable", (status) => conditionIn(status, "Registered")?.reason === "NotReady");
    expect(await runtime.call("Room", "greet")).toBe("two");
    await runtime.resolve(held[0] as string);
    await untilVersion(third);
    expect((await setOf(oldName, namespace))?.spec.replicas).toBe(0);
    expect(await runtime.call("Room", "greet")).toBe("three");
  },
  TEST_MS,
);

test(
  "retired versions beyond the limit leave the registry, then the cluster",
  async () => {
    const namespace = await aNamespace();
    const { first, second, oldName } = await twoVersions("Short", namespace, { spec: { revisionHistoryLimit: 0 } });
    const { deploymentId } = await statusOf(world.client, first);
    await apply(second);
    await eventually("its ReplicaSet is gone", async () => (await setOf(oldName, namespace)) === undefined, SOON_MS);
    expect(await runtime.admin("GET", `/deployments/${deploymentId}`)).toBe(404);
    await eventually(
      "its Service is gone",
      async () => (await world.client.find(resources.services, oldName, namespace)) === undefined,
    );
    expect(await runtime.call("Short", "greet")).toBe("two");
  },
  TEST_MS,
);

test(
  "an environment of the cluster that comes later is noticed; pods let its runtime in",
  async () => {
    const namespace = await aNamespace();
    const id = `env_${randomBytes(8).toString("hex")}`;
    const one = service({ name: "here", namespace, image: "here:1", perdure: { register: { environment: id } } });
    await runtime.serve(one, greeter("Here", "one"));
    await apply(one);
    const missing = await until(
      one,
      "it is missed",
      (status) => conditionIn(status, "Registered")?.reason === "InvalidReference",
    );
    expect(conditionIn(missing, "Registered")?.message).toBe(`there is no environment ${id} here`);
    await world.create({ workers: { replicas: 1 } }, id);
    await until(one, "it waits", (status) => conditionIn(status, "Registered")?.reason !== "InvalidReference");
    await until(one, "it is registered", isReady, 2 * SOON_MS);
    expect(await runtime.call("Here", "greet")).toBe("one");
    const labels = world.kubelet.pods(namespace)[0]?.metadata.labels;
    expect(labels).toMatchObject({ [`perdure.dev/allow-${id.slice(4)}`]: "true" });
  },
  TEST_MS,
);
