/** Connections with hosted environments: keys, tunnels and their network policies, and the services that depend on them. */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import type { CloudEnvironment } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { allowance } from "./eventually.js";
import { aService, conditionIn, greeter, nameOfVersion, POLL_MS, Runtime, statusOf } from "./services.js";
import { OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const SOON_MS = 60_000;
/** Kubernetes.md §7, 58. */
const REACHES_MS = 2_000;
const KEY = `publickeyv1_${"1".repeat(43)}`;
const NEXT_KEY = `publickeyv1_${"2".repeat(43)}`;

let world: World;
let runtime: Runtime;
/** Takes no key. */
const closed = createServer((_, response) => response.writeHead(401).end(JSON.stringify({ message: "the key is not known" })));

beforeAll(async () => {
  [world, runtime] = await Promise.all([World.start(), Runtime.start()]);
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const locked = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
  const { addresses } = runtime;
  const adminOfCloud = (cloud: CloudEnvironment): string =>
    cloud.metadata.name.startsWith("locked") ? locked : addresses.adminOfCloud(cloud);
  const operator = world.startOperator({ addresses: { ...addresses, adminOfCloud }, drainPollMs: POLL_MS });
  // Kinds that were defined just now are served a moment later.
  await operator.untilWatching(AbortSignal.timeout(TEST_MS));
}, FIRST_MS);
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await runtime?.[Symbol.asyncDispose]();
  closed.closeAllConnections();
  await new Promise((resolve) => closed.close(resolve));
}, TEST_MS);

interface CloudInput {
  readonly name: string;
  readonly tunnel?: Readonly<Record<string, unknown>>;
  readonly signingPublicKey?: string;
}

const ENVIRONMENT = "env_0123456789abcdef";

function aCloud({ name, tunnel = {}, signingPublicKey = KEY }: CloudInput): KubeObject {
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "CloudEnvironment",
    metadata: { name },
    spec: {
      environmentId: ENVIRONMENT,
      region: "eu",
      signingPublicKey,
      authentication: { secretRef: { name: `key-${name}`, key: "key" } },
      tunnel,
    },
  };
}

const apply = (object: KubeObject): Promise<KubeObject> => world.client.apply(object, { manager: "people", force: true });
const aKey = (name: string): Promise<KubeObject> =>
  apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `key-${name}`, namespace: OPERATOR_NAMESPACE },
    data: { key: Buffer.from("key_secret").toString("base64") },
  });
const until = (name: string, what: string, holds: (status: NonNullable<CloudEnvironment["status"]>) => boolean) =>
  eventually(
    what,
    async () => {
      const existing = (await world.client.find(resources.cloudEnvironments, name)) as unknown as CloudEnvironment | undefined;
      const { status } = existing ?? {};
      if (status === undefined || !holds(status)) throw new Error(JSON.stringify(status));
      return status;
    },
    SOON_MS,
  );
const condition = (status: CloudEnvironment["status"], type: string) => status?.conditions?.find((one) => one.type === type);
const isReady = (status: CloudEnvironment["status"]): boolean => condition(status, "Ready")?.status === "True";
const find = (resource: Parameters<typeof world.client.find>[0], name: string) =>
  world.client.find<KubeObject & { spec: Record<string, unknown> }>(resource, name, OPERATOR_NAMESPACE);

test(
  "a key that comes later is noticed at once; then tunnels are up, with network policies, and are their object's",
  async () => {
    await apply(aCloud({ name: "shop", tunnel: { replicas: 3 } }));
    const missing = await until("shop", "the key is missed", (one) => condition(one, "CredentialsValid")?.status === "False");
    expect(condition(missing, "CredentialsValid")).toMatchObject({
      reason: "InvalidReference",
      message: "key 'key' of Secret 'key-shop' is not there",
    });
    await aKey("shop");
    const ready = await until("shop", "it is ready", (one) => isReady(one) && one.tunnel?.connected === 3);
    expect(ready.tunnel?.name).toMatch(/^shop-[0-9a-f]{6}$/);
    expect(condition(ready, "TunnelConnected")).toMatchObject({ status: "True", reason: "Connected" });
    const deployment = await find(resources.deployments, "tunnel-shop");
    expect(JSON.stringify(deployment)).not.toContain("key_secret");
    expect(deployment).toMatchObject({
      spec: {
        replicas: 3,
        template: {
          spec: {
            automountServiceAccountToken: false,
            containers: [
              {
                image: expect.stringMatching(/^images\.example\.org\/perdure\/perdure-tunnel-client:/),
                env: expect.arrayContaining([
                  { name: "PERDURE_TUNNEL__NAME", value: ready.tunnel?.name },
                  { name: "PERDURE_TUNNEL__ALLOW", value: "http://*.svc.cluster.local:9080" },
                  { name: "PERDURE_TUNNEL__SRV", value: "tunnel.eu.example.org" },
                ]),
                securityContext: { readOnlyRootFilesystem: true },
              },
            ],
          },
        },
      },
    });
    expect(await find(resources.networkPolicies, "tunnel-shop")).toMatchObject({
      spec: { ingress: [{ ports: [{ port: 9091 }] }] },
    });
    expect(await find(resources.services, "tunnel-shop")).toBeUndefined();

    // Garbage collection deletes them with their owner.
    const { metadata } = await world.client.get(resources.cloudEnvironments, "shop");
    for (const resource of [resources.deployments, resources.networkPolicies]) {
      const owners = (await find(resource, "tunnel-shop"))?.metadata.ownerReferences;
      expect(owners).toEqual([expect.objectContaining({ kind: "CloudEnvironment", uid: metadata.uid, controller: true })]);
    }
  },
  TEST_MS,
);

test(
  "ports are brought here only on demand, and only for pods that carry the environment's label",
  async () => {
    await aKey("proxy");
    await apply(aCloud({ name: "proxy", tunnel: { remoteProxy: true } }));
    await until("proxy", "it is ready", isReady);
    expect(await find(resources.services, "tunnel-proxy")).toMatchObject({ spec: { ports: [{ port: 8080 }, { port: 9070 }] } });
    const label = { "perdure.dev/proxy-0123456789abcdef": "true" };
    const policy = await find(resources.networkPolicies, "tunnel-proxy");
    expect(policy?.spec["ingress"]).toEqual([
      expect.objectContaining({ ports: [{ port: 9091, protocol: "TCP" }] }),
      {
        from: [{ namespaceSelector: {}, podSelector: { matchLabels: label } }],
        ports: [8080, 9070].map((port) => ({ port, protocol: "TCP" })),
      },
    ]);
    await apply(aCloud({ name: "proxy", tunnel: { remoteProxy: false } }));
    await eventually("the Service goes", async () => (await find(resources.services, "tunnel-proxy")) === undefined, SOON_MS);
    const closedNow = await find(resources.networkPolicies, "tunnel-proxy");
    expect(closedNow?.spec["ingress"]).toHaveLength(1);
  },
  TEST_MS,
);

test(
  "a key that the environment refuses is reported, with the response",
  async () => {
    await aKey("locked");
    await apply(aCloud({ name: "locked" }));
    const refused = await until("locked", "it is refused", (one) => condition(one, "CredentialsValid")?.reason === "Refused");
    expect(condition(refused, "CredentialsValid")?.message).toContain("the key is not known");
    expect(condition(refused, "Ready")).toMatchObject({ status: "False", reason: "Refused" });
  },
  TEST_MS,
);

async function aNamespace(): Promise<string> {
  const name = `tunnelled-${randomBytes(4).toString("hex")}`;
  await world.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return name;
}

test(
  "pods that open their tunnel themselves receive its identity; another signing key gives another version within two seconds",
  async () => {
    const namespace = await aNamespace();
    const perdure = { register: { cloudEnvironment: "inside" }, tunnelMode: "in-process" };
    const initContainers = [{ name: "first", image: "init" }];
    const one = aService({ name: "inner", namespace, image: "inner:1", perdure });
    const { template } = one["spec"] as { template: { spec: object } };
    const whole = {
      ...one,
      spec: { ...(one["spec"] as object), template: { ...template, spec: { ...template.spec, initContainers } } },
    };
    const identity = { environmentId: ENVIRONMENT, region: "eu", signingPublicKey: KEY, namespace };
    const name = await runtime.serve(whole, greeter("Inner", "one"), identity);
    const later = await runtime.serve(whole, greeter("Inner", "two"), { ...identity, signingPublicKey: NEXT_KEY });
    await apply(whole);
    const missing = await eventually(
      "it waits",
      async () => conditionIn(await statusOf(world.client, whole), "Registered"),
      SOON_MS,
    );
    expect(missing).toMatchObject({ reason: "InvalidReference", message: "there is no CloudEnvironment 'inside'" });
    await aKey("inside");
    await apply(aCloud({ name: "inside" }));
    const isRegistered = async () => conditionIn(await statusOf(world.client, whole), "Ready")?.status === "True";
    await eventually("it is registered", isRegistered, SOON_MS);
    const [pod] = world.kubelet.pods(namespace);
    const spec = pod?.["spec"] as { containers: { env: unknown }[]; initContainers: { env: unknown }[] };
    const variables = [
      { name: "PERDURE_TUNNEL_NAME", value: name },
      { name: "PERDURE_ENVIRONMENT_ID", value: ENVIRONMENT },
      { name: "PERDURE_REGION", value: "eu" },
      { name: "PERDURE_SIGNING_PUBLIC_KEY", value: KEY },
    ];
    expect(spec.containers[0]?.env).toEqual(variables);
    expect(spec.initContainers[0]?.env).toEqual(variables);
    expect(await runtime.call("Inner", "greet")).toBe("one");

    const changedAt = performance.now();
    await apply(aCloud({ name: "inside", signingPublicKey: NEXT_KEY }));
    const set = () => world.client.find(resources.replicaSets, later, namespace);
    await eventually("another version", async () => (await set()) !== undefined, SOON_MS);
    const tookMs = performance.now() - changedAt;
    if (tookMs > REACHES_MS) expect(tookMs).toBeLessThan(await allowance(REACHES_MS, world));
    expect(later).not.toBe(name);
    await eventually("it takes over", async () => (await runtime.call("Inner", "greet")) === "two", SOON_MS);
  },
  TEST_MS,
);

test(
  "a template that sets variables of the operator is refused",
  async () => {
    const namespace = await aNamespace();
    await aKey("taken");
    await apply(aCloud({ name: "taken" }));
    const perdure = { register: { cloudEnvironment: "taken" }, tunnelMode: "in-process" };
    const container = { env: [{ name: "PERDURE_TUNNEL_NAME", value: "mine" }] };
    const one = aService({ name: "own", namespace, image: "own:1", perdure, container });
    await apply(one);
    const isRefused = async () => {
      const current = conditionIn(await statusOf(world.client, one), "Registered");
      return current?.reason === "InvalidTemplate" ? current : undefined;
    };
    const refused = await eventually("it is refused", isRefused, SOON_MS);
    expect(refused.message).toBe("container 'code' sets PERDURE_TUNNEL_NAME, which is the operator's with tunnelMode in-process");
    expect(await world.client.find(resources.replicaSets, nameOfVersion(one), namespace)).toBeUndefined();
  },
  TEST_MS,
);
