/** What the API server itself checks: each rule with an object that keeps it and one that breaks it. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type LeasedControlPlane, leaseKubernetes } from "@perdure/servers";
import { definitions } from "../src/index.js";

const FIRST_MS = 45 * 60_000;
const CLOSE_MS = 60_000;
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const API = "/apis/perdure.dev/v1alpha1";

let kubernetes: LeasedControlPlane;

interface Condition {
  readonly type: string;
  readonly status: string;
}

beforeAll(async () => {
  kubernetes = await leaseKubernetes();
  for (const body of definitions) {
    const created = await kubernetes.request({ method: "POST", path: DEFINITIONS, body });
    expect(created).toMatchObject({ status: 201 });
  }
  for (const { metadata, spec } of definitions) {
    await eventually(async () => {
      const { conditions } = (await definition(metadata.name)).status;
      const isServed = (await kubernetes.request({ path: `${API}/${String(spec.names["plural"])}` })).status === 200;
      return isServed && conditions.some(({ type, status }) => type === "Established" && status === "True");
    });
  }
}, FIRST_MS);
afterAll(() => kubernetes[Symbol.asyncDispose](), CLOSE_MS);

async function definition(name: string) {
  const { text } = await kubernetes.request({ path: `${DEFINITIONS}/${name}` });
  return JSON.parse(text) as { readonly spec: object; readonly status: { readonly conditions: readonly Condition[] } };
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + CLOSE_MS; !(await holds()); ) {
    if (performance.now() > deadline) throw new Error("it did not come about");
  }
}

/** Every `x-kubernetes-…` key below, with how often it occurs. */
function extensionsIn(value: unknown, counts: Record<string, number> = {}): Readonly<Record<string, number>> {
  if (typeof value !== "object" || value === null) return counts;
  for (const [key, child] of Object.entries(value)) {
    if (key.startsWith("x-kubernetes-")) counts[key] = (counts[key] ?? 0) + 1;
    extensionsIn(child, counts);
  }
  return counts;
}

test("definitions are structural, and the server kept every rule in them", async () => {
  for (const expected of definitions) {
    const { status, spec } = await definition(expected.metadata.name);
    expect(status.conditions.filter(({ type }) => type === "NonStructuralSchema")).toEqual([]);
    expect(extensionsIn(spec)).toEqual(extensionsIn(expected.spec));
  }
  expect(extensionsIn(definitions)["x-kubernetes-validations"]).toBeGreaterThan(20);
});

// ── environments ─────────────────────────────────────────────────────────────────────────────────

type Fields = Readonly<Record<string, unknown>>;

let counter = 0;
const newId = (): string => `env_rules${String(counter++).padStart(5, "0")}`;

function anEnvironment(spec: Fields = {}, name?: string): Fields {
  const environmentId = (spec["environmentId"] as string | undefined) ?? newId();
  const given = { environmentId, accountId: "acc_0123456789Ab", region: "eu", version: "1.0.0", redis: { bundled: {} }, ...spec };
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "Environment",
    metadata: { name: name ?? environmentId.replace("_", "-") },
    spec: given,
  };
}

const create = (body: Fields, query = "") => kubernetes.request({ method: "POST", path: `${API}/environments${query}`, body });

async function created(spec: Fields = {}): Promise<string> {
  const body = anEnvironment(spec);
  expect(await create(body)).toMatchObject({ status: 201 });
  return (body["metadata"] as { readonly name: string }).name;
}

const change = (name: string, spec: Fields) =>
  kubernetes.request({ method: "PATCH", path: `${API}/environments/${name}`, body: { spec } });

test("defaults are filled in by the server, down to the last", async () => {
  const name = await created();
  const { spec } = JSON.parse((await kubernetes.request({ path: `${API}/environments/${name}` })).text) as {
    readonly spec: Fields;
  };
  expect(spec).toMatchObject({
    channel: "stable",
    size: "small",
    workers: { partitions: 24, drainSeconds: 120, topologySpread: "zone" },
    redis: { bundled: { mode: "standalone", size: "10Gi", fsync: "always", maxMemoryPercent: 70 } },
    retention: { completedJournal: "24h" },
    network: { egress: { mode: "public" }, disablePolicies: false },
    reclaimPolicy: "Retain",
    deletionProtection: true,
  });
});

describe("refused, with our message", () => {
  const cases: readonly (readonly [string, Fields, string])[] = [
    ["an id of another shape", { environmentId: "env_UPPER" }, "spec.environmentId"],
    ["an unknown size", { size: "huge" }, "Unsupported value"],
    ["no Redis", { redis: {} }, "exactly one of bundled and external"],
    ["two", { redis: { bundled: {}, external: { secretRef: { name: "a", key: "b" } } } }, "exactly one of bundled and external"],
    ["a version that moves", { version: "latest" }, "spec.version"],
    ["a custom size without resources", { size: "custom" }, "size custom needs workers.resources"],
    ["a minimum above the maximum", { workers: { autoscaling: { min: 3, max: 2 } } }, "max must not be below min"],
    [
      "requests above limits",
      { workers: { resources: { requests: { memory: "2Gi" }, limits: { memory: "1Gi" } } } },
      "requests must not exceed",
    ],
    ["labels that are ours", { workers: { podLabels: { "perdure.dev/environment": "x" } } }, "must not begin with perdure.dev/"],
    ["an amount that is none", { redis: { bundled: { size: "plenty" } } }, "must be a quantity"],
    ["a retention beyond the longest", { retention: { completedJournal: "91d" } }, "must not be longer than 90 days"],
    ["one that is not a duration", { retention: { completedJournal: "soon" } }, "completedJournal"],
    ["hibernation after a minute", { hibernation: { afterIdle: "60s" } }, "must be 0s, which is off, or at least 5m"],
    ["a peer that matches every address", { network: { egress: { allow: [{}] } } }, "either an ipBlock or selectors"],
    ["a network that is none", { network: { egress: { cidrs: ["10.0.0.0/99"] } } }, "must be a CIDR"],
    ["too many workers", { workers: { replicas: 65 } }, "less than or equal to 64"],
    ["no front pod", { front: { replicas: 0 } }, "greater than or equal to 1"],
    [
      "a Redis that requests more than its limit",
      { redis: { bundled: { resources: { requests: { memory: "2Gi" }, limits: { memory: "1Gi" } } } } },
      "requests must not exceed",
    ],
  ];
  test.each(cases)("%s", async (_, spec, message) => {
    const { status, text } = await create(anEnvironment(spec));
    expect([status, text]).toEqual([422, expect.stringContaining(message)]);
  });

  test("a name that is not the id's", async () => {
    const { status, text } = await create(anEnvironment({}, "env-somethingelse"));
    expect([status, text]).toEqual([422, expect.stringContaining("the name must be the environmentId")]);
    expect((await create(anEnvironment({}, "other"))).text).toContain("the name must be env- and");
  });

  test("a field that the schema does not declare, where the client is strict", async () => {
    const { status, text } = await create(anEnvironment({ replicas: 3 }), "?fieldValidation=Strict");
    expect([status, text]).toEqual([400, expect.stringContaining('unknown field \\"spec.replicas\\"')]);
  });
});

test("what is at the edge of a rule is let through", async () => {
  await created({ hibernation: { afterIdle: "5m" } });
  await created({ hibernation: { afterIdle: "0s" } });
  await created({ hibernation: { afterIdle: "300s" } });
  await created({ retention: { completedJournal: "90d", workflow: "8760h" } });
  await created({
    size: "custom",
    workers: { resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { memory: "1024Mi" } } },
  });
  await created({
    network: { egress: { mode: "allowlist", cidrs: ["10.0.0.0/8", "fd00::/8"], allow: [{ namespaceSelector: {} }] } },
  });
  await created({ redis: { external: { secretRef: { name: "redis", key: "url" } } } });
  await created({
    front: { replicas: 16, resources: { requests: { cpu: "1" } } },
    redis: { bundled: { resources: { requests: { memory: "1Gi" }, limits: { memory: "1Gi" } } } },
  });
});

test("what must not change does not, and everything else does", async () => {
  const name = await created({ redis: { bundled: { size: "10Gi", storageClassName: "fast" } } });
  const refused: readonly (readonly [Fields, string])[] = [
    [{ region: "us" }, "region cannot be changed"],
    [{ accountId: "acc_0123456789Cd" }, "accountId cannot be changed"],
    [{ workers: { partitions: 48 } }, "partitions cannot be changed"],
    [{ redis: { bundled: { storageClassName: "slow" } } }, "storageClassName cannot be changed once it is set"],
    [{ redis: { bundled: { storageClassName: null } } }, "storageClassName cannot be changed once it is set"],
    [{ redis: { bundled: { size: "9000Mi" } } }, "a volume never shrinks"],
    [{ backup: { restoreFrom: { snapshotId: "s1" } } }, "backup.restoreFrom is for new environments only"],
  ];
  for (const [spec, message] of refused) {
    const { status, text } = await change(name, spec);
    expect([status, text]).toEqual([422, expect.stringContaining(message)]);
  }
  expect(
    await change(name, { redis: { bundled: { size: "10240Mi" } }, workers: { replicas: 3 }, backup: { keep: 3 } }),
  ).toMatchObject({ status: 200 });
  const restored = await created({ backup: { restoreFrom: { snapshotId: "s1" } } });
  expect(await change(restored, { backup: null })).toMatchObject({ status: 422 });
});

test("Redis stays of its kind while there is data", async () => {
  const name = await created();
  const status = { data: { present: true } };
  const path = `${API}/environments/${name}/status`;
  expect(await kubernetes.request({ method: "PATCH", path, body: { status } })).toMatchObject({ status: 200 });
  const external = { bundled: null, external: { secretRef: { name: "redis", key: "url" } } };
  expect((await change(name, { redis: external })).text).toContain("while there is data");
  const empty = await created();
  expect(await change(empty, { redis: external })).toMatchObject({ status: 200 });
});

test("status and scale are separate subresources", async () => {
  const name = await created({ workers: { replicas: 2 } });
  const path = `${API}/environments/${name}`;
  const before = JSON.parse((await kubernetes.request({ path })).text) as { readonly metadata: { readonly generation: number } };
  const body = { status: { phase: "Running", workers: { replicas: 2, selector: "a=b" } }, spec: { suspended: true } };
  await kubernetes.request({ method: "PATCH", path: `${path}/status`, body });
  const after = JSON.parse((await kubernetes.request({ path })).text) as { readonly metadata: object; readonly spec: object };
  expect(after).toMatchObject({
    metadata: { generation: before.metadata.generation },
    spec: { suspended: false },
    status: body.status,
  });
  const scaled = await kubernetes.request({ method: "PATCH", path: `${path}/scale`, body: { spec: { replicas: 5 } } });
  expect(JSON.parse(scaled.text)).toMatchObject({ spec: { replicas: 5 }, status: { replicas: 2, selector: "a=b" } });
});

// ── the others ───────────────────────────────────────────────────────────────────────────────────

function aServiceDeployment(perdure: Fields, more: Fields = {}): Fields {
  const labels = { app: "greeter" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "greeter", image: "greeter:1" }] } };
  const metadata = { name: `greeter-${counter++}`, namespace: "default" };
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "ServiceDeployment",
    metadata,
    spec: { selector: { matchLabels: labels }, template, perdure, ...more },
  };
}

test("a ServiceDeployment names exactly one register target, and keeps its whole pod template", async () => {
  const path = `${API}/namespaces/default/servicedeployments`;
  const post = (body: Fields) => kubernetes.request({ method: "POST", path, body });
  const good = await post(aServiceDeployment({ register: { url: "http://greeter:9080" } }));
  expect(good.status).toBe(201);
  expect(JSON.parse(good.text)).toMatchObject({
    spec: { template: { spec: { containers: [{ image: "greeter:1" }] } }, perdure: { drainDelaySeconds: 300, servicePath: "/" } },
  });
  const both = { register: { url: "http://greeter:9080", cloudEnvironment: "prod" } };
  expect((await post(aServiceDeployment(both))).text).toContain("exactly one of environment, cloudEnvironment, service, url");
  expect((await post(aServiceDeployment({ register: {} }))).text).toContain("exactly one of");
  const inProcess = { register: { url: "http://greeter:9080" }, tunnelMode: "in-process" };
  expect((await post(aServiceDeployment(inProcess))).text).toContain("tunnelMode in-process needs register.cloudEnvironment");
});

test("a CloudEnvironment leaves space for a prefix in its name, and shows a key of the right shape", async () => {
  const signingPublicKey = "publickeyv1_B9THfQTyVT59JdM9yTq5pNrFCMscUC2dgdr2gX26XubB";
  const authentication = { secretRef: { name: "key", key: "token" } };
  const post = (name: string, spec: Fields) => {
    const body = { apiVersion: "perdure.dev/v1alpha1", kind: "CloudEnvironment", metadata: { name }, spec };
    return kubernetes.request({ method: "POST", path: `${API}/cloudenvironments`, body });
  };
  const spec = { environmentId: "env_0123456789", region: "eu.private", signingPublicKey, authentication };
  expect((await post("a".repeat(56), spec)).status).toBe(201);
  expect((await post("a".repeat(57), spec)).text).toContain("must not be longer than 56");
  expect((await post("other", { ...spec, signingPublicKey: "publickeyv1_0OIl" })).status).toBe(422);
  expect((await post("other", { ...spec, region: "eu..private" })).status).toBe(422);
});

test("the API server accepts the chart's templates unchanged", async () => {
  for (const { metadata, spec } of definitions) {
    const path = new URL(`../../../../charts/perdure-crds/templates/${String(spec.names["plural"])}.yaml`, import.meta.url);
    const query = "?fieldManager=helm&dryRun=All&force=true&fieldValidation=Strict";
    const contentType = "application/apply-patch+yaml";
    const answer = await kubernetes.request({
      method: "PATCH",
      path: `${DEFINITIONS}/${metadata.name}${query}`,
      contentType,
      text: readFileSync(path, "utf8"),
    });
    expect(answer).toMatchObject({ status: 200 });
  }
});
