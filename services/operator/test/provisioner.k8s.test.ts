/** From tenancy to the operator: its desired state becomes environments, and it reads their states back. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Secret, silentLogger, systemClock, systemRandom } from "@perdure/base";
import type { Provisioner } from "@perdure/cloud";
import { aDesiredRuntime, describeProvisioner, untilState } from "@perdure/cloud/testing";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { connectKubernetes, type KubeObject, resources } from "@perdure/kubernetes";
import { namespaceRules, openKubernetesProvisioner, openRuntimeWaker, platformRules } from "@perdure/kubernetes-environments";
import { cell, OPERATOR_NAMESPACE } from "./cell.js";
import { eventually } from "./eventually.js";
import { World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

let world: World;
let kubeconfig: string;

beforeAll(async () => {
  world = await World.start();
  world.startOperator({ cell: { ...cell, region: aDesiredRuntime().region } });
  kubeconfig = await tenancysKubeconfig();
}, FIRST_MS);
afterAll(() => world[Symbol.asyncDispose](), TEST_MS);

async function made(path: string, body: object): Promise<unknown> {
  const { status, text } = await world.kubernetes.request({ method: "POST", path, body });
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  return JSON.parse(text);
}

/** Of an account that has the rights that charts give tenancy, and no others. */
async function tenancysKubeconfig(): Promise<string> {
  const name = "perdure-tenancy";
  const metadata = { name };
  const subjects = [{ kind: "ServiceAccount", name, namespace: OPERATOR_NAMESPACE }];
  const roleRef = (kind: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });
  const own = `${RBAC}/namespaces/${OPERATOR_NAMESPACE}`;
  const accounts = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/serviceaccounts`;
  await made(accounts, { metadata });
  await made(`${RBAC}/clusterroles`, { metadata, rules: platformRules });
  await made(`${RBAC}/clusterrolebindings`, { metadata, roleRef: roleRef("ClusterRole"), subjects });
  await made(`${own}/roles`, { metadata, rules: namespaceRules });
  await made(`${own}/rolebindings`, { metadata, roleRef: roleRef("Role"), subjects });
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const { status } = (await made(`${accounts}/${name}/token`, request)) as { readonly status: { readonly token: string } };
  const config = JSON.parse(world.kubernetes.kubeconfig()) as object;
  return JSON.stringify({ ...config, users: [{ name: "test", user: { token: status.token } }] });
}

function open(): Promise<Provisioner> {
  const ports = { client: connectKubernetes(kubeconfig), clock: systemClock, random: systemRandom, logger: silentLogger };
  const template = { version: "1.4.0", size: "free", hibernateAfterSeconds: 0 } as const;
  return openKubernetesProvisioner(ports, { namespace: OPERATOR_NAMESPACE, clusterDns: "cluster.local", template });
}

describeProvisioner("environments of a cluster", open);

test(
  "a restarted provisioner has the desired state of the one before, and its results",
  async () => {
    const desired = aDesiredRuntime({ generation: 5 });
    {
      await using first = await open();
      await first.apply(desired);
    }
    await using second = await open();
    expect(second.state(desired.environmentId)?.generation).toBe(5);
    await second.apply({ ...desired, generation: 4, mode: "suspended" });
    const ready = await untilState(second, desired, "ready");
    const name = desired.environmentId.replace("_", "-");
    expect(ready.upstream).toEqual({
      ingress: `http://runtime.${name}.svc.cluster.local:8080`,
      admin: `http://runtime.${name}.svc.cluster.local:9070`,
    });
    await second.remove(desired.environmentId, { erase: false });
    await world.until(name, (one) => one?.status?.phase === "Suspended");
    await using third = await open();
    expect(third.state(desired.environmentId)).toBeUndefined();
    expect(await world.client.find(resources.volumeClaims, "data-redis-0", name)).toBeDefined();
    await third.remove(desired.environmentId, { erase: true });
    expect(await world.client.find(resources.namespaces, name)).toBeUndefined();
    const key = `signing-key-${desired.environmentId.slice("env_".length)}`;
    expect(await world.client.find(resources.secrets, key, OPERATOR_NAMESPACE)).toBeUndefined();
  },
  TEST_MS,
);

test(
  "the token for tunnels is mounted into the pods that call services, a new one replaces them, and it is removed with the tunnels",
  async () => {
    await using provisioner = await open();
    const tunnels = { proxyUrl: "http://relay.example:9080", token: new Secret("rt_first") };
    const desired = aDesiredRuntime({ tunnels });
    const name = desired.environmentId.replace("_", "-");
    const given = `tunnel-token-${desired.environmentId.slice("env_".length)}`;
    const tokenOf = async (secret: string, namespace: string): Promise<string | undefined> => {
      const existing = await world.client.find(resources.secrets, secret, namespace);
      const { token } = (existing?.["data"] ?? {}) as Readonly<Record<string, string>>;
      return token === undefined ? undefined : Buffer.from(token, "base64").toString();
    };
    const hashOfWorkers = async (): Promise<string | undefined> => {
      const set = await world.client.get(resources.statefulSets, "worker", name);
      const { template } = set["spec"] as { readonly template: { readonly metadata: KubeObject["metadata"] } };
      return template.metadata.annotations?.["perdure.dev/secrets-hash"];
    };
    await provisioner.apply(desired);
    await untilState(provisioner, desired, "ready");
    expect(await tokenOf("tunnel-token", name)).toBe("rt_first");
    const before = await hashOfWorkers();
    const second = { ...desired, generation: 2, tunnels: { ...tunnels, token: new Secret("rt_second") } };
    await provisioner.apply(second);
    await eventually(async () => (await hashOfWorkers()) !== before);
    expect(await tokenOf("tunnel-token", name)).toBe("rt_second");
    await provisioner.apply({ ...second, generation: 3, tunnels: undefined });
    expect(await tokenOf(given, OPERATOR_NAMESPACE)).toBeUndefined();
    expect(((await world.client.get(resources.environments, name)) as EnvironmentResource).spec.tunnels).toBeUndefined();
    await provisioner.apply({ ...second, generation: 4 });
    await provisioner.remove(desired.environmentId, { erase: true });
    expect(await tokenOf(given, OPERATOR_NAMESPACE)).toBeUndefined();
  },
  TEST_MS,
);

test(
  "a request wakes a hibernated environment once; one that is awake is left alone",
  async () => {
    const ports = { client: connectKubernetes(kubeconfig), clock: systemClock, random: systemRandom, logger: silentLogger };
    await using provisioner = await open();
    await using waker = openRuntimeWaker(ports);
    const desired = aDesiredRuntime({ region: "where-nobody-acts" });
    const name = desired.environmentId.replace("_", "-");
    await provisioner.apply(desired);
    const wakeOf = async (): Promise<string | undefined> =>
      (await world.client.get(resources.environments, name)).metadata.annotations?.["perdure.dev/wake"];
    const setHibernation = (hibernation: object) => {
      const status = { hibernation: { since: "2026-01-01T00:00:00Z", ...hibernation } };
      const object = { apiVersion: "perdure.dev/v1alpha1", kind: "Environment", metadata: { name }, status };
      return world.client.apply(object, { manager: "sleep", force: true, subresource: "status" });
    };
    /** Its copy may lag, and repeating the request costs nothing. */
    const untilWoken = async (before: string | undefined): Promise<string> => {
      for (const deadline = performance.now() + TEST_MS / 2; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
        waker.requestWake(desired.environmentId);
        const value = await wakeOf();
        if (value !== undefined && value !== before) return value;
        if (performance.now() > deadline) throw new Error("it was not woken");
      }
    };
    waker.requestWake(desired.environmentId);
    expect(await wakeOf()).toBeUndefined();
    await setHibernation({ state: "Asleep" });
    const first = await untilWoken(undefined);
    await setHibernation({ state: "Asleep", wakeAsked: first });
    const second = await untilWoken(first);
    for (let n = 0; n < 5; n++) waker.requestWake(desired.environmentId);
    await setHibernation({ state: "Waking" });
    waker.requestWake(desired.environmentId);
    expect(await wakeOf()).toBe(second);
    await provisioner.remove(desired.environmentId, { erase: true });
  },
  TEST_MS,
);

test(
  "what the cell refuses has failed, with its reason",
  async () => {
    await using provisioner = await open();
    const desired = aDesiredRuntime({ region: "elsewhere" });
    await provisioner.apply(desired);
    expect(await untilState(provisioner, desired, "failed")).toMatchObject({
      generation: 1,
      reason: expect.stringContaining("WrongRegion"),
    });
    await provisioner.remove(desired.environmentId, { erase: true });
  },
  TEST_MS,
);
