import { describe, expect, test } from "@jest/globals";
import type { ApiTransport, TransportResponse } from "@perdure/admin-client";
import { Secret } from "@perdure/base";
import { definitions, type ServiceDeployment, serviceDeploymentSpec } from "@perdure/custom-resources";
import { longestPauses, VirtualClock } from "@perdure/testkit";
import fc from "fast-check";
import { lackingIn } from "../src/definition-differences.js";
import { AdminClients } from "../src/service-deployment/admin-clients.js";
import { problemOf, replicaSet, selectorText, serviceOf } from "../src/service-deployment/desired.js";
import { templateHash, versionName } from "../src/service-deployment/names.js";
import { conditionsOf, statusOf } from "../src/service-deployment/status.js";
import type { ServiceVersion } from "../src/service-deployment/version.js";

function aDeployment(fields: Readonly<Record<string, unknown>> = {}, collisionCount?: number): ServiceDeployment {
  const spec = serviceDeploymentSpec.parse({
    selector: { matchLabels: { app: "shop" } },
    template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "code", image: "shop:1" }] } },
    perdure: { register: { environment: "env_0123456789abcdef" } },
    ...fields,
  });
  const metadata = { name: "shop", namespace: "team", uid: "uid-1", generation: 3 };
  const status = collisionCount === undefined ? {} : { collisionCount };
  return { apiVersion: "perdure.dev/v1alpha1", kind: "ServiceDeployment", metadata, spec, status };
}

describe("a version's hash", () => {
  test("stays what it was in earlier releases: an upgrade rolls no pod", () => {
    expect(templateHash(aDeployment(), undefined)).toBe("b7700b4da6a7bf51");
  });

  test("changes with the template, the path, the protocol, a collision and the tunnel; with nothing else", () => {
    const own = { environmentId: "env_0123456789abcdef", region: "eu", signingPublicKey: "publickeyv1_1", namespace: "team" };
    const register = { environment: "env_0123456789abcdef" };
    const template = { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "code", image: "shop:2" }] } };
    const hashes = [
      templateHash(aDeployment(), undefined),
      templateHash(aDeployment({ template }), undefined),
      templateHash(aDeployment({ perdure: { register, servicePath: "/v2" } }), undefined),
      templateHash(aDeployment({ perdure: { register, protocol: "http1" } }), undefined),
      templateHash(aDeployment({}, 1), undefined),
      templateHash(aDeployment(), own),
      templateHash(aDeployment(), { ...own, signingPublicKey: "publickeyv1_2" }),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
    const other = { register: { url: "http://x.test" }, drainDelaySeconds: 1, breakingChanges: "allow" };
    expect(templateHash(aDeployment({ replicas: 7, perdure: other }), undefined)).toBe(hashes[0]);
  });

  test("becomes a name that a Service may have, a different one for different services", () => {
    const name = fc.stringMatching(/^[a-z]([a-z0-9.-]{0,250}[a-z0-9])?$/);
    fc.assert(
      fc.property(name, name, (one, other) => {
        const called = versionName(one, "0123456789abcdef");
        expect(called.length).toBeLessThanOrEqual(63);
        expect(called).toMatch(/^[a-z][a-z0-9.-]*[a-z0-9]$/);
        expect(called).not.toContain(".");
        expect(called === versionName(other, "0123456789abcdef")).toBe(one === other);
      }),
    );
  });
});

describe("the objects of a version", () => {
  test("pods allow calls by runtimes of the environment, and are distinguished by the hash", () => {
    const set = replicaSet(aDeployment(), "0123456789abcdef", []);
    expect(set).toMatchObject({
      metadata: { name: "shop-0123456789", namespace: "team", ownerReferences: [{ kind: "ServiceDeployment", uid: "uid-1" }] },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "shop", "perdure.dev/template-hash": "0123456789" } },
        template: { metadata: { labels: { app: "shop", "perdure.dev/allow-0123456789abcdef": "true" } } },
      },
    });
  });

  test.each([
    [[], "auto", 9080, "kubernetes.io/h2c"],
    [[{ name: "perdure", containerPort: 8000 }], "h2c", "perdure", "kubernetes.io/h2c"],
    [[{ name: "web", containerPort: 8000 }], "http1", 9080, undefined],
  ])("the Service leads to the port that is meant: %j, %s", (ports, protocol, targetPort, appProtocol) => {
    const template = { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "code", image: "shop:1", ports }] } };
    const deployment = aDeployment({ template, perdure: { register: { url: "http://x.test" }, protocol } });
    const { spec } = serviceOf(deployment, "shop-0123456789", "0123456789") as unknown as { spec: { ports: unknown[] } };
    const expected = { name: "perdure", port: 9080, protocol: "TCP", targetPort };
    expect(spec.ports).toEqual([appProtocol === undefined ? expected : { ...expected, appProtocol }]);
  });

  test("a selector is reported as a text that Kubernetes parses", () => {
    const matchExpressions = [
      { key: "tier", operator: "In" as const, values: ["a", "b"] },
      { key: "zone", operator: "NotIn" as const, values: ["c"] },
      { key: "x", operator: "Exists" as const },
      { key: "y", operator: "DoesNotExist" as const },
    ];
    expect(selectorText({ matchLabels: { b: "2", a: "1" }, matchExpressions })).toBe("a=1,b=2,tier in (a,b),zone notin (c),x,!y");
  });

  test.each([
    [{ metadata: { labels: { app: "other" } }, spec: { containers: [{ name: "code" }] } }, "the template's labels lack app"],
    [{ metadata: { labels: { app: "shop" } }, spec: {} }, "the template has no container"],
    [
      { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "c", env: [{ name: "OURS" }] }] } },
      "container 'c' sets OURS",
    ],
    [
      {
        metadata: { labels: { app: "shop" } },
        spec: { containers: [{ name: "c" }], initContainers: [{ name: "i", env: [{ name: "OURS" }] }] },
      },
      "container 'i' sets OURS",
    ],
  ])("a template that cannot work is refused with a reason: %#", (template, why) => {
    expect(problemOf(aDeployment({ template }), ["OURS"])).toContain(why);
  });
});

const aVersion = (fields: Partial<ServiceVersion> = {}): ServiceVersion => ({
  name: "shop-0123456789",
  uid: "u",
  hash: "0123456789",
  createdAtMs: 0,
  deploymentId: "dp_1",
  registeredAt: undefined,
  supersededAtMs: undefined,
  removeAfterMs: undefined,
  requested: 1,
  replicas: 1,
  ready: 1,
  available: 1,
  ...fields,
});

test("draining for longer than allowed is reported, and ends nothing", () => {
  const perdure = { register: { url: "http://x.test" }, maxDrainSeconds: 60 };
  const registered = { type: "Registered", status: "True", reason: "Registered", message: "" } as const;
  const old = aVersion({ hash: "old", supersededAtMs: 0 });
  const drained = [
    { version: old, state: "Draining", active: 2, removeAfterMs: undefined, why: "2 unfinished invocations" } as const,
  ];
  const facts = {
    hash: "0123456789",
    collisionCount: 0,
    latest: aVersion(),
    deploymentId: "dp_2",
    registered,
    serving: [],
    drained,
  };
  const stuck = (nowMs: number) =>
    conditionsOf(aDeployment({ perdure }), { ...facts, nowMs }).find(({ type }) => type === "DrainStuck");
  expect(stuck(60_000)).toMatchObject({ status: "False" });
  expect(stuck(60_001)).toMatchObject({ status: "True", reason: "MaxDrainExceeded", message: "2 unfinished invocations" });
  expect(statusOf(aDeployment({ perdure }), { ...facts, nowMs: 60_001 })).toMatchObject({
    drainingVersions: 1,
    deploymentId: "dp_2",
    versions: [
      { hash: "0123456789", state: "Latest" },
      { hash: "old", state: "Draining", activeInvocations: 2 },
    ],
  });
});

// ── requests to a management API ─────────────────────────────────────────────────────────────────

const TARGET = { url: "http://admin.test:9070", token: new Secret("key") };
const answer = (status: number, body: unknown): TransportResponse => ({
  status,
  header: () => undefined,
  body: new TextEncoder().encode(JSON.stringify(body)),
});
const never = new AbortController().signal;

describe("management APIs", () => {
  test("one that does not respond gets no requests, longer each time, while others do", async () => {
    const clock = new VirtualClock();
    const requests: string[] = [];
    const transport: ApiTransport = async ({ url, headers }) => {
      requests.push(`${url.host} ${headers["authorization"] ?? ""}`);
      if (url.host === "admin.test:9070") throw new Error("connect ECONNREFUSED");
      const versions = { version: "1", min_admin_api_version: 2, max_admin_api_version: 4 };
      return answer(200, { ...versions, ingress_endpoint: null, features: {} });
    };
    const adminClients = new AdminClients({ clock, random: longestPauses, transport });
    expect(await adminClients.version(TARGET, never)).toMatchObject({ kind: "unreachable", againMs: 2_000 });
    expect(await adminClients.version(TARGET, never)).toMatchObject({ kind: "unreachable" });
    expect(await adminClients.version({ url: "http://other.test", token: undefined }, never)).toEqual({
      kind: "answered",
      value: "1",
    });
    expect(requests).toEqual(["admin.test:9070 Bearer key", "other.test "]);
    for (const againMs of [4_000, 8_000, 16_000, 30_000, 30_000]) {
      clock.advanceTo(clock.nowMs() + 30_000);
      expect(await adminClients.version(TARGET, never)).toMatchObject({ kind: "unreachable", againMs });
    }
  });

  test("an endpoint that supports HTTP/1.1 only is registered so, unless the spec says otherwise", async () => {
    const bodies: unknown[] = [];
    const transport: ApiTransport = async ({ body }) => {
      const json = JSON.parse(String(body)) as { use_http_11: boolean };
      bodies.push(json.use_http_11);
      if (!json.use_http_11) return answer(500, { message: "[META0014] only HTTP/1.1", restate_code: "META0014" });
      return answer(201, { id: "dp_1", services: [], min_protocol_version: 5, max_protocol_version: 5 });
    };
    const adminClients = new AdminClients({ clock: new VirtualClock(), transport });
    const registration = { url: "http://shop.test", breaking: false, again: false, metadata: {} };
    expect(await adminClients.register(TARGET, { ...registration, protocol: "auto" }, never)).toEqual({
      kind: "answered",
      value: "dp_1",
    });
    expect(bodies).toEqual([false, true]);
    expect(await adminClients.register(TARGET, { ...registration, protocol: "h2c" }, never)).toMatchObject({
      kind: "refused",
      message: "[META0014] only HTTP/1.1",
    });
  });

  test("a missing deployment counts as removed; one in use is refused; an unknown one is not reported as known", async () => {
    const transport: ApiTransport = async ({ method, url }) =>
      url.pathname.endsWith("dp_gone")
        ? answer(404, { message: "no such deployment" })
        : answer(method === "GET" ? 500 : 409, { message: "still needed" });
    const adminClients = new AdminClients({ clock: new VirtualClock(), transport });
    expect(await adminClients.remove(TARGET, "dp_gone", false, never)).toEqual({ kind: "answered", value: undefined });
    expect(await adminClients.remove(TARGET, "dp_used", false, never)).toMatchObject({ kind: "refused", status: 409 });
    expect(await adminClients.knows(TARGET, "dp_gone", never)).toEqual({ kind: "answered", value: false });
    expect(await adminClients.knows(TARGET, "dp_used", never)).toMatchObject({ kind: "refused" });
  });
});

describe("an installed definition", () => {
  const schema = (): Record<string, unknown> => {
    const definition = definitions.find(({ metadata }) => metadata.name === "servicedeployments.perdure.dev");
    return JSON.parse(JSON.stringify(definition?.spec.versions[0]?.schema.openAPIV3Schema)) as Record<string, unknown>;
  };
  type Fields = { properties: { spec: { properties: Record<string, Record<string, unknown>> } } };

  test("lacks nothing when it is ours, or newer", () => {
    expect(lackingIn(schema(), "servicedeployments")).toEqual([]);
    const newer = schema() as unknown as Fields;
    newer.properties.spec.properties["invented"] = { type: "string" };
    expect(lackingIn(newer as unknown as Record<string, unknown>, "servicedeployments")).toEqual([]);
  });

  test("lacks the fields, values and rules that it does not have, each by its name", () => {
    const older = schema() as unknown as Fields & Record<string, unknown>;
    delete older.properties.spec.properties["minReadySeconds"];
    delete older.properties.spec.properties["selector"]?.["x-kubernetes-validations"];
    const perdure = older.properties.spec.properties["perdure"] as unknown as { properties: { protocol: { enum: string[] } } };
    perdure.properties.protocol.enum = ["auto"];
    expect(lackingIn(older, "servicedeployments")).toEqual([
      ".spec.selector (selector cannot be changed)",
      ".spec.minReadySeconds",
      ".spec.perdure.protocol=http1",
      ".spec.perdure.protocol=h2c",
    ]);
  });
});
