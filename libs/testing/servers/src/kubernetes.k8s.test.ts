import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { KUBERNETES_VERSION, type KubernetesServer, startKubernetes } from "./index.js";
import { BUILD_MS_MAX, READY_MS_MAX } from "./limits.js";

let kubernetes: KubernetesServer;

beforeAll(async () => {
  kubernetes = await startKubernetes({ users: { reader: ["readers"] } });
}, BUILD_MS_MAX);
afterAll(async () => {
  const { directory, apiServer, etcd, controllerManager } = kubernetes;
  await kubernetes[Symbol.asyncDispose]();
  expect(existsSync(directory)).toBe(false);
  expect([apiServer.isRunning, etcd.isRunning, controllerManager?.isRunning]).toEqual([false, false, false]);
});

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string): object => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } });

test("it is the release that its modules are of", async () => {
  expect(JSON.parse((await kubernetes.request({ path: "/version" })).text)).toMatchObject({
    gitVersion: `v${KUBERNETES_VERSION}`,
  });
});

test(
  "an object that was created is read, and is still there after API server and etcd were killed",
  async () => {
    expect(await kubernetes.request({ method: "POST", path: CONFIG_MAPS, body: configMap("kept") })).toMatchObject({
      status: 201,
    });
    const { pid } = kubernetes.apiServer;
    await kubernetes.apiServer.kill();
    await expect(kubernetes.request({ path: CONFIG_MAPS })).rejects.toThrow("ECONNREFUSED");
    await kubernetes.etcd.kill();
    await kubernetes.etcd.startAgain();
    await kubernetes.apiServer.startAgain();
    expect(kubernetes.apiServer.pid).not.toBe(pid);
    expect(await kubernetes.request({ path: `${CONFIG_MAPS}/kept` })).toMatchObject({ status: 200 });
  },
  READY_MS_MAX,
);

test("a user may do nothing until a role allows it", async () => {
  expect(await kubernetes.request({ path: CONFIG_MAPS }, "reader")).toMatchObject({ status: 403 });
  expect(() => kubernetes.kubeconfig("unknown")).toThrow("without a user 'unknown'");
});

test(
  "rules of a custom resource are kept by the server",
  async () => {
    const rules = [{ rule: "self.a != 'bad'", message: "a must not be bad" }];
    const spec = { type: "object", properties: { a: { type: "string", maxLength: 9 } }, "x-kubernetes-validations": rules };
    const definition = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "things.example.org" },
      spec: {
        group: "example.org",
        scope: "Cluster",
        names: { kind: "Thing", plural: "things" },
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { spec } } } },
        ],
      },
    };
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    expect(await kubernetes.request({ method: "POST", path: definitions, body: definition })).toMatchObject({ status: 201 });
    const create = (a: string): ReturnType<typeof kubernetes.request> => {
      const body = { apiVersion: "example.org/v1", kind: "Thing", metadata: { name: a }, spec: { a } };
      return kubernetes.request({ method: "POST", path: "/apis/example.org/v1/things", body });
    };
    await served(() => create("good"));
    expect(await create("bad")).toMatchObject({ status: 422, text: expect.stringContaining("a must not be bad") });
  },
  READY_MS_MAX,
);

/** A new kind answers 404 for a moment. */
async function served(request: () => Promise<{ status: number }>): Promise<void> {
  for (const deadline = performance.now() + READY_MS_MAX; ; ) {
    const { status } = await request();
    if (status === 201 || status === 409) return;
    if (performance.now() > deadline) throw new Error(`still ${status}`);
  }
}

test(
  "controllers make a pod of a StatefulSet, and collect objects whose owner is gone",
  async () => {
    const labels = { app: "one" };
    const pod = { metadata: { labels }, spec: { containers: [{ name: "c", image: "none" }] } };
    const spec = { replicas: 1, serviceName: "one", selector: { matchLabels: labels }, template: pod };
    const sets = "/apis/apps/v1/namespaces/default/statefulsets";
    const body = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "one" }, spec };
    expect(await kubernetes.request({ method: "POST", path: sets, body })).toMatchObject({ status: 201 });
    const podIs = (status: number): Promise<void> => until("/api/v1/namespaces/default/pods/one-0", status);
    await podIs(200);
    expect(await kubernetes.request({ method: "DELETE", path: `${sets}/one?gracePeriodSeconds=0` })).toMatchObject({
      status: 200,
    });
    await podIs(404);
  },
  READY_MS_MAX,
);

async function until(path: string, expected: number): Promise<void> {
  for (const deadline = performance.now() + READY_MS_MAX; ; ) {
    const { status } = await kubernetes.request({ path });
    if (status === expected) return;
    if (performance.now() > deadline) throw new Error(`${path} is still ${status}`);
  }
}
