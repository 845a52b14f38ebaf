/** The operator's token reaches only Secrets of environments: the chart's admission policy and roles on a real API server. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type KubernetesServer, runHelm, startKubernetes } from "@perdure/servers";
import { eventually } from "../../src/index.js";
import { NAMESPACE, type Rendered, render } from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const OPERATOR = `system:serviceaccount:${NAMESPACE}:perdure-operator`;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const POLICIES = "/apis/admissionregistration.k8s.io/v1";
const OWN = { name: "env-confined000", labels: { "perdure.dev/environment": "confined000" } };

let kubernetes: KubernetesServer;

beforeAll(async () => {
  await runHelm("version");
  kubernetes = await startKubernetes({ controllers: false, users: { [OPERATOR]: [] } });
  const objects = await render({});
  const named = (kind: string, name: string): Rendered =>
    objects.find((one) => one.kind === kind && one.metadata.name === name) as Rendered;
  for (const role of ["perdure-operator", "perdure-operator-secrets"])
    await create(`${RBAC}/clusterroles`, named("ClusterRole", role));
  const user = { kind: "User", name: OPERATOR, apiGroup: "rbac.authorization.k8s.io" };
  const { roleRef } = named("ClusterRoleBinding", "perdure-operator") as unknown as { readonly roleRef: object };
  await create(`${RBAC}/clusterrolebindings`, { metadata: { name: "perdure-operator" }, roleRef, subjects: [user] });
  for (const name of ["victim", "env-pretended0"]) await create("/api/v1/namespaces", { metadata: { name } });
  for (const kind of ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]) {
    const plural = kind.endsWith("Binding") ? "validatingadmissionpolicybindings" : "validatingadmissionpolicies";
    await create(`${POLICIES}/${plural}`, named(kind, "perdure-operator-confinement"));
  }
  await eventually("the policy is in force", async () => (await refusal("victim")) !== "");
}, FIRST_MS);
afterAll(() => kubernetes[Symbol.asyncDispose](), TEST_MS);

async function create(path: string, body: unknown): Promise<void> {
  const { status, text } = await kubernetes.request({ method: "POST", path, body });
  if (status !== 201) throw new Error(`${path}: ${text}`);
}

const asOperator = (method: "GET" | "PATCH" | "POST", path: string, body?: unknown) =>
  kubernetes.request({ method, path, body }, OPERATOR);

/** Lets the operator at the Secrets of that namespace, as it does for environments. */
function bind(namespace: string, query = "") {
  const apiGroup = "rbac.authorization.k8s.io";
  return asOperator("POST", `${RBAC}/namespaces/${namespace}/rolebindings${query}`, {
    metadata: { name: "operator-secrets" },
    roleRef: { apiGroup, kind: "ClusterRole", name: "perdure-operator-secrets" },
    subjects: [{ kind: "User", name: OPERATOR, apiGroup }],
  });
}

/** The policy's refusal; empty when it admits the request. */
async function refusal(namespace: string): Promise<string> {
  const { status, text } = await bind(namespace, "?dryRun=All");
  return status === 403 && text.includes("perdure-operator-confinement") ? text : "";
}

test(
  "it furnishes the namespace of an environment with its role, and with Secrets",
  async () => {
    expect(await asOperator("POST", "/api/v1/namespaces", { metadata: OWN })).toMatchObject({ status: 201 });
    await eventually("the namespace is known", async () => (await bind(OWN.name)).status !== 403);
    const secret = () => asOperator("POST", `/api/v1/namespaces/${OWN.name}/secrets`, { metadata: { name: "signing-key" } });
    await eventually("the role is in force", async () => (await secret()).status === 201);
    const labels = { metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } } };
    expect(await asOperator("PATCH", `/api/v1/namespaces/${OWN.name}`, labels)).toMatchObject({ status: 200 });
  },
  TEST_MS,
);

test(
  "it binds its role in no other namespace, and makes none of them an environment's",
  async () => {
    expect(await refusal("victim")).toContain("the operator is confined to namespaces of environments, and victim is none");
    for (const name of ["victim", "env-pretended0"]) {
      const body = { metadata: { labels: { "perdure.dev/environment": name.replace("env-", "") } } };
      const { status, text } = await asOperator("PATCH", `/api/v1/namespaces/${name}`, body);
      expect([name, status]).toEqual([name, 403]);
      expect(text).toContain("perdure-operator-confinement");
    }
    const foreign = { metadata: { name: "other", labels: { "perdure.dev/environment": "confined000" } } };
    expect(await asOperator("POST", "/api/v1/namespaces", foreign)).toMatchObject({ status: 403 });
    expect(await asOperator("GET", "/api/v1/namespaces/victim/secrets")).toMatchObject({ status: 403 });
  },
  TEST_MS,
);
