/** A failing webhook of another owner: objects of every kind report it while it fails, and continue afterwards. */
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Condition } from "@perdure/custom-resources";
import { type KubeObject, type Resource, resources } from "@perdure/kubernetes";
import { freePorts } from "@perdure/servers";
import { eventually } from "./eventually.js";
import { aService } from "./services.js";
import { OPERATOR_NAMESPACE, World } from "./world.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const FAILURE = "ReconcileFailed";
/** The longest that an API server waits for a webhook. */
const WEBHOOK_SECONDS = 30;

let world: World;
const silent: Server = createServer((socket) => void sockets.add(socket));
const sockets = new Set<Socket>();

beforeAll(async () => {
  world = await World.start();
  const operator = world.startOperator();
  await operator.untilWatching(AbortSignal.timeout(TEST_MS));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
}, FIRST_MS);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
  await world[Symbol.asyncDispose]();
}, TEST_MS);

const PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/** Runs `work` while writes of these kinds are validated by the server at that port. */
async function validating(plurals: readonly string[], port: number, work: () => Promise<void>): Promise<void> {
  const webhook = {
    name: "policy.example.org",
    clientConfig: { url: `https://127.0.0.1:${port}/` },
    rules: [{ apiGroups: ["apps"], apiVersions: ["*"], operations: ["CREATE", "UPDATE"], resources: plurals }],
    failurePolicy: "Fail",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: WEBHOOK_SECONDS,
  };
  const { status, text } = await world.kubernetes.request({
    method: "POST",
    path: PATH,
    body: { metadata: { name: "policy" }, webhooks: [webhook] },
  });
  if (status !== 201) throw new Error(text);
  try {
    await work();
  } finally {
    await world.kubernetes.request({ method: "DELETE", path: `${PATH}/policy` });
  }
}

async function failureOf(resource: Resource, { metadata }: Pick<KubeObject, "metadata">): Promise<Condition | undefined> {
  const existing = await world.client.find(resource, metadata.name, metadata.namespace);
  const { conditions = [] } = (existing?.["status"] ?? {}) as { readonly conditions?: readonly Condition[] };
  return conditions.find(({ type }) => type === FAILURE);
}

test(
  "an environment, a service and a tunnel report that a webhook cannot be reached, and no longer when it is not needed",
  async () => {
    await world.client.create({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "key-shop", namespace: OPERATOR_NAMESPACE },
      data: { key: Buffer.from("key_secret").toString("base64") },
    });
    const cloud = {
      apiVersion: "perdure.dev/v1alpha1",
      kind: "CloudEnvironment",
      metadata: { name: "shop" },
      spec: {
        environmentId: "env_0123456789abcdef",
        region: "eu",
        signingPublicKey: `publickeyv1_${"1".repeat(43)}`,
        authentication: { secretRef: { name: "key-shop", key: "key" } },
        tunnel: {},
      },
    };
    const [closed] = (await freePorts(1)) as [number];
    const service = aService({ name: "greeter", namespace: "default", image: "greeter:1" }, `http://127.0.0.1:${closed}`);
    const failing: (readonly [Resource, Pick<KubeObject, "metadata">])[] = [];
    await validating(["statefulsets", "deployments", "replicasets"], closed, async () => {
      failing.push([resources.environments, await world.create()]);
      failing.push([resources.serviceDeployments, await world.client.create(service)]);
      failing.push([resources.cloudEnvironments, await world.client.create(cloud)]);
      for (const [resource, object] of failing) {
        await eventually(async () => (await failureOf(resource, object)) !== undefined);
        const condition = await failureOf(resource, object);
        expect(condition).toMatchObject({ status: "True", reason: "ApiServerError" });
        expect(condition?.message).toMatch(/^patch (statefulsets|replicasets|deployments): 500 .*policy\.example\.org/);
      }
    });
    for (const [resource, object] of failing) await eventually(async () => (await failureOf(resource, object)) === undefined);
  },
  TEST_MS,
);

test(
  "a webhook that does not answer is reported while the API server waits for it",
  async () => {
    const { port } = silent.address() as { readonly port: number };
    await validating(["statefulsets"], port, async () => {
      const made = await world.create();
      await eventually(async () => (await failureOf(resources.environments, made)) !== undefined);
      const condition = await failureOf(resources.environments, made);
      // An answer of the API server would be `ApiServerError`: there is none yet.
      expect(condition).toMatchObject({ status: "True", reason: "ApiServerSlow" });
      expect(condition?.message).toMatch(/^patch statefulsets: no response for 3 s/);
    });
  },
  TEST_MS,
);
