/** What holds the data of an environment is not deleted while the environment exists: the chart's admission policy on a real API server. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type KubernetesServer, runHelm, startKubernetes } from "@perdure/servers";
import { eventually } from "../../src/index.js";
import { NAMESPACE, type Rendered, render } from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const OPERATOR = `system:serviceaccount:${NAMESPACE}:perdure-operator`;
const POLICIES = "/apis/admissionregistration.k8s.io/v1";
const ENVIRONMENTS = "/apis/perdure.dev/v1alpha1/environments";

let kubernetes: KubernetesServer;

beforeAll(async () => {
  await runHelm("version");
  kubernetes = await startKubernetes({ controllers: false, users: { [OPERATOR]: ["system:masters"] } });
  const objects = await render({});
  for (const body of objects.filter(({ kind }) => kind === "CustomResourceDefinition"))
    await create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body);
  await eventually("environments are served", async () => (await kubernetes.request({ path: ENVIRONMENTS })).status === 200);
  const ofKind = (kindName: string): Rendered =>
    objects.find(({ kind, metadata }) => kind === kindName && metadata.name === "perdure-deletion-guard") as Rendered;
  await create(`${POLICIES}/validatingadmissionpolicies`, ofKind("ValidatingAdmissionPolicy"));
  await create(`${POLICIES}/validatingadmissionpolicybindings`, ofKind("ValidatingAdmissionPolicyBinding"));
}, FIRST_MS);
afterAll(() => kubernetes[Symbol.asyncDispose](), TEST_MS);

async function create(path: string, body: unknown): Promise<void> {
  const { status, text } = await kubernetes.request({ method: "POST", path, body });
  if (status !== 201) throw new Error(`${path}: ${text}`);
}

/** A namespace as the operator furnishes it, with the environment or without. */
async function furnish(name: string, { isLive }: { readonly isLive: boolean }): Promise<void> {
  const labels = { "perdure.dev/environment": name.slice("env-".length) };
  await create("/api/v1/namespaces", { metadata: { name, labels } });
  for (const secret of ["signing-key", "redis-auth", "redis-auth-copy", "postgres"])
    await create(`/api/v1/namespaces/${name}/secrets`, { metadata: { name: secret, labels } });
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  await create(`/api/v1/namespaces/${name}/persistentvolumeclaims`, { metadata: { name: "data-redis-0", labels }, spec });
  if (!isLive) return;
  const environmentId = name.replace("-", "_");
  const given = { environmentId, accountId: "acc_0123456789", region: "eu", version: "1.0.0", redis: { bundled: {} } };
  await create(ENVIRONMENTS, { apiVersion: "perdure.dev/v1alpha1", kind: "Environment", metadata: { name }, spec: given });
  // The API server learns of policies and of the objects that they are about from watches of its own.
  await eventually(`${name} is guarded`, async () => (await remove(`${name}/secrets/signing-key`, "?dryRun=All")).status === 403);
}

const remove = (what: string, query = "", user?: string) =>
  kubernetes.request({ method: "DELETE", path: `/api/v1/namespaces/${what}${query}` }, user);

const HOLDING = [
  "",
  "/persistentvolumeclaims/data-redis-0",
  "/secrets/signing-key",
  "/secrets/redis-auth",
  "/secrets/redis-auth-copy",
];

describe("while an environment exists", () => {
  const NAME = "env-guarded0000";

  test(
    "its namespace, claims and signing key are not deleted, one by one or all at once, and the answer says what to do",
    async () => {
      await furnish(NAME, { isLive: true });
      for (const path of [...HOLDING, "/persistentvolumeclaims", "/secrets"]) {
        const { status, text } = await remove(`${NAME}${path}`, "?dryRun=All");
        expect([path, status]).toEqual([path, 403]);
        expect(text).toContain(`data of the environment ${NAME} would be lost: delete the environment instead`);
      }
      expect(await remove(`${NAME}/secrets/postgres`, "?dryRun=All")).toMatchObject({ status: 200 });
    },
    TEST_MS,
  );

  test("the operator deletes them", async () => {
    for (const path of HOLDING) {
      expect([path, (await remove(`${NAME}${path}`, "?dryRun=All", OPERATOR)).status]).toEqual([path, 200]);
    }
  });

  test(
    "whose protection was taken away, they are deleted by every user who may delete such objects",
    async () => {
      const body = { spec: { deletionProtection: false } };
      expect(await kubernetes.request({ method: "PATCH", path: `${ENVIRONMENTS}/${NAME}`, body })).toMatchObject({ status: 200 });
      await eventually("the API server applies the change", async () => (await remove(NAME, "?dryRun=All")).status === 200);
    },
    TEST_MS,
  );
});

test(
  "what an environment left behind is deleted by hand",
  async () => {
    await furnish("env-guarded0001", { isLive: true });
    await furnish("env-leftbehind0", { isLive: false });
    for (const path of HOLDING) {
      expect([path, (await remove(`env-leftbehind0${path}`, "?dryRun=All")).status]).toEqual([path, 200]);
    }
  },
  TEST_MS,
);
