/** A shared control plane is empty for the next suite, whatever the last suite left in it. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type KubernetesServer, type LeasedControlPlane, leaseKubernetes } from "./index.js";
import { startSharedKubernetes } from "./kubernetes-lease.js";
import { BUILD_MS_MAX } from "./limits.js";

const before = process.env["SHARED_KUBERNETES"];
let server: KubernetesServer;

beforeAll(async () => {
  const shared = await startSharedKubernetes();
  server = shared.server;
  const worker = Number(process.env["JEST_WORKER_ID"]);
  process.env["SHARED_KUBERNETES"] = JSON.stringify(Array(worker).fill(shared.file));
}, BUILD_MS_MAX);
afterAll(async () => {
  if (before === undefined) delete process.env["SHARED_KUBERNETES"];
  else process.env["SHARED_KUBERNETES"] = before;
  await server[Symbol.asyncDispose]();
});

const NAMESPACES = "/api/v1/namespaces";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS = "/apis/example.org/v1/things";
const SYSTEM_ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/view";

const definition = {
  metadata: { name: "things.example.org" },
  spec: {
    group: "example.org",
    scope: "Cluster",
    names: { kind: "Thing", plural: "things" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};
const thing = { apiVersion: "example.org/v1", kind: "Thing", metadata: { name: "held", finalizers: ["example.org/held"] } };

async function untilStatus(kubernetes: LeasedControlPlane, path: string, expected: number): Promise<void> {
  while ((await kubernetes.request({ path })).status !== expected) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function create(kubernetes: LeasedControlPlane, path: string, body: object): Promise<void> {
  expect(await kubernetes.request({ method: "POST", path, body })).toMatchObject({ status: 201 });
}

test(
  "what one suite leaves behind is not there for the next, and what it changed is as before",
  async () => {
    const first = await leaseKubernetes();
    const rulesBefore = JSON.parse((await first.request({ path: SYSTEM_ROLE })).text).metadata.labels;
    await create(first, NAMESPACES, { metadata: { name: "left" } });
    await create(first, `${NAMESPACES}/left/secrets`, { metadata: { name: "left" } });
    await create(first, DEFINITIONS, definition);
    await untilStatus(first, THINGS, 200);
    await create(first, THINGS, thing);
    await first.request({ method: "PATCH", path: SYSTEM_ROLE, body: { metadata: { labels: { changed: "yes" } } } });
    await first[Symbol.asyncDispose]();

    const second = await leaseKubernetes();
    try {
      for (const path of [`${NAMESPACES}/left`, `${DEFINITIONS}/things.example.org`]) {
        expect(await second.request({ path })).toMatchObject({ status: 404 });
      }
      expect(JSON.parse((await second.request({ path: SYSTEM_ROLE })).text).metadata.labels).toEqual(rulesBefore);
      // The kind can be defined again, and its earlier objects are deleted.
      await untilStatus(second, THINGS, 404);
      await create(second, DEFINITIONS, definition);
      await untilStatus(second, THINGS, 200);
      expect(JSON.parse((await second.request({ path: THINGS })).text).items).toEqual([]);
      await create(second, NAMESPACES, { metadata: { name: "left" } });
      await untilStatus(second, `${NAMESPACES}/left/serviceaccounts/default`, 200);
    } finally {
      await second[Symbol.asyncDispose]();
    }
  },
  BUILD_MS_MAX,
);

test("users are the administrator and the operator of the suites, who has no rights at first", async () => {
  const kubernetes = await leaseKubernetes();
  expect(await kubernetes.request({ path: NAMESPACES }, "perdure-operator")).toMatchObject({ status: 403 });
  await kubernetes[Symbol.asyncDispose]();
});
