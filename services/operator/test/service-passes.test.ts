/**
 * Single passes over a service whose copy of the cluster is older than the API server's state: what a slow watch causes, without the delay.
 */
import { expect, test } from "@jest/globals";
import type { ApiTransport } from "@perdure/admin-client";
import { silentLogger } from "@perdure/base";
import { type ServiceDeployment, type ServiceDeploymentStatus, serviceDeploymentSpec } from "@perdure/custom-resources";
import { type KubeObject, type MetadataOnly, type Resource, resources } from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { AdminClients } from "../src/service-deployment/admin-clients.js";
import { DEPLOYMENT_ID, FINALIZER, REGISTERED_AT, TEMPLATE, templateHash, versionName } from "../src/service-deployment/names.js";
import { OwnSets } from "../src/service-deployment/own-sets.js";
import { type ServiceDeploymentPorts, ServiceDeployments } from "../src/service-deployment/reconcile.js";
import { versionsOf } from "../src/service-deployment/version.js";
import { cell } from "./cell.js";

const SIGNAL = new AbortController().signal;
const REGISTER = { url: "http://admin.test:9070" };

function aDeployment(metadata: Partial<ServiceDeployment["metadata"]> = {}): ServiceDeployment {
  const spec = serviceDeploymentSpec.parse({
    selector: { matchLabels: { app: "shop" } },
    template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "code", image: "shop:1" }] } },
    perdure: { register: REGISTER },
  });
  const own = { name: "shop", namespace: "team", uid: "uid-1", generation: 1, finalizers: [FINALIZER], ...metadata };
  return { apiVersion: "perdure.dev/v1alpha1", kind: "ServiceDeployment", metadata: own, spec, status: {} };
}

function aSet(deployment: ServiceDeployment, resourceVersion: string, annotations: Readonly<Record<string, string>>): KubeObject {
  const hash = templateHash(deployment, undefined);
  const { apiVersion, kind } = resources.replicaSets;
  const { name, namespace = "", uid = "" } = deployment.metadata;
  const owner = { apiVersion: deployment.apiVersion, kind: deployment.kind, name, uid };
  const own = { name: versionName(name, hash), namespace, uid: "set-1", resourceVersion };
  return { apiVersion, kind, metadata: { ...own, annotations: { [TEMPLATE]: hash, ...annotations }, ownerReferences: [owner] } };
}

const REGISTERED = { [DEPLOYMENT_ID]: "dp_1", [REGISTERED_AT]: JSON.stringify(REGISTER) };

/** `copy` is what our copies have of ReplicaSets, `there` what the API server has. */
function passes(deployment: ServiceDeployment, copy: readonly KubeObject[], there: readonly KubeObject[]) {
  const requests: string[] = [];
  const statuses: ServiceDeploymentStatus[] = [];
  const transport: ApiTransport = async ({ method, url }) => {
    requests.push(`${method} ${url.pathname}`);
    const rows = url.pathname.endsWith("/query") ? { rows: [] } : {};
    return { status: 200, header: () => "application/json", body: new TextEncoder().encode(JSON.stringify(rows)) };
  };
  const client = {
    list: async () => ({ items: there, resourceVersion: "9" }),
    find: async ({ plural }: Resource) =>
      plural === resources.serviceDeployments.plural ? (deployment as unknown as KubeObject) : undefined,
    delete: async ({ plural }: Resource, name: string) => requests.push(`delete ${plural}/${name}`),
    patch: async ({ plural }: Resource) => requests.push(`patch ${plural}`),
    apply: async (object: KubeObject & { readonly status?: ServiceDeploymentStatus }) => {
      if (object.status !== undefined) statuses.push(object.status);
      return object;
    },
  };
  const caches = {
    serviceDeployments: { get: () => deployment },
    replicaSets: { values: () => copy },
    of: () => ({ get: (): MetadataOnly | undefined => undefined }),
  };
  const clock = new VirtualClock();
  const ports = {
    client,
    caches,
    cell,
    clock,
    applier: { apply: async () => true, discardObject: () => {} },
    events: { record: async () => {} },
    logger: silentLogger,
    adminClients: new AdminClients({ clock, transport }),
    addresses: { endpoint: () => "http://shop.test" },
    definitions: { outdated: () => [] },
  } as unknown as ServiceDeploymentPorts;
  const owner = new ServiceDeployments(ports);
  return { requests, statuses, run: () => owner.reconcile("team/shop", SIGNAL) };
}

test("a version is not reported as registered before its pods are observed", async () => {
  const { statuses, run } = passes(aDeployment(), [], []);
  await run();
  const conditions = new Map(statuses.at(-1)?.conditions?.map((one) => [one.type, one]));
  expect(conditions.get("Registered")).toMatchObject({ status: "False", reason: "NotReady" });
  expect(conditions.get("Ready")?.status).toBe("False");
});

test("a service that is deleted right after its registration is removed from the registry, though the copy does not show the registration yet", async () => {
  const leaving = aDeployment({ deletionTimestamp: "2026-01-01T00:00:00Z" });
  const { requests, run } = passes(leaving, [aSet(leaving, "1", {})], [aSet(leaving, "2", REGISTERED)]);
  expect(await run()).toEqual({ kind: "ok" });
  const removed = requests.findIndex((one) => one.startsWith("DELETE ") && one.endsWith("/deployments/dp_1"));
  expect(removed).toBeGreaterThanOrEqual(0);
  expect(requests.indexOf("patch servicedeployments")).toBeGreaterThan(removed);
});

test("what we noted on a version counts until our copy is as new", () => {
  const deployment = aDeployment();
  const own = new OwnSets();
  const idIn = (set: KubeObject): string | undefined =>
    versionsOf(deployment, own.over({ values: () => [set] }))[0]?.deploymentId;
  const before = aSet(deployment, "9", {});
  expect(idIn(before)).toBeUndefined();
  own.note(aSet(deployment, "10", REGISTERED));
  expect(idIn(before)).toBe("dp_1");
  expect(idIn(aSet(deployment, "11", {}))).toBeUndefined(); // It was removed again by another writer.
  expect(idIn(before)).toBeUndefined();
});
