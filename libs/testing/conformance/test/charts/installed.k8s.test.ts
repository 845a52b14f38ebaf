/**
 * The chart on a real API server with real helm: validated, installed, upgraded, and uninstalled only when no environment needs it. Hooks
 * run real programs.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { programBundle } from "@perdure/dev-cluster";
import {
  freePorts,
  type LeasedControlPlane,
  leaseKubernetes,
  type PostgresServer,
  runHelm,
  startPostgres,
} from "@perdure/servers";
import { makeCertificates } from "@perdure/testkit";
import { eventually } from "../../src/index.js";
import { PlayedJobs } from "./played-jobs.js";
import { PlayedPod } from "./played-pod.js";
import {
  CHART,
  type Container,
  containersIn,
  hookOf,
  NAMESPACE,
  nameOf,
  objectsIn,
  type Rendered,
  render,
  VALUES,
} from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 240_000;
const ID = "env_0123456789abcdef";

let kubernetes: LeasedControlPlane;
let postgres: PostgresServer;
const bundles: Record<string, string> = {};
let jobs: PlayedJobs;

beforeAll(async () => {
  await runHelm("version");
  for (const program of ["tenancy", "operator", "cloud-gateway", "tunnel-relay"]) {
    bundles[program] = await programBundle(`services/${program}`);
  }
  [kubernetes, postgres] = await Promise.all([leaseKubernetes(), startPostgres()]);
  await create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  const definitions = objectsIn(readFileSync(new URL("./testdata/optional-apis.yaml", import.meta.url), "utf8"));
  for (const definition of definitions) await create(DEFINITIONS, definition);
  for (const { spec } of definitions) {
    const { group, names } = spec as unknown as { group: string; names: { plural: string } };
    await eventually(`${names.plural} are served`, async () => (await get(`/apis/${group}/v1/${names.plural}`)).status === 200);
  }
  const secret = { metadata: { name: "perdure-postgres" }, stringData: { url: postgres.url } };
  await create(`/api/v1/namespaces/${NAMESPACE}/secrets`, secret);
}, FIRST_MS);
afterAll(async () => {
  await jobs?.[Symbol.asyncDispose]();
  await Promise.all([kubernetes[Symbol.asyncDispose](), postgres[Symbol.asyncDispose]()]);
}, TEST_MS);

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const get = (path: string) => kubernetes.request({ path });

async function create(path: string, body: unknown): Promise<void> {
  const { status, text } = await kubernetes.request({ method: "POST", path, body });
  if (status !== 201) throw new Error(text);
}

const OF_CLUSTER: ReadonlySet<string> = new Set([
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
]);

/** Where objects of its kind are. */
function pathOf({ apiVersion, kind }: Pick<Rendered, "apiVersion" | "kind">): string {
  const plural = `${kind.toLowerCase().replace(/cy$/, "cie").replace(/ss$/, "sse")}s`;
  const scope = OF_CLUSTER.has(kind) ? "" : `/namespaces/${NAMESPACE}`;
  return `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}${scope}/${plural}`;
}

async function find(kind: string, name: string, apiVersion = "v1"): Promise<Rendered | undefined> {
  const { status, text } = await get(`${pathOf({ apiVersion, kind })}/${name}`);
  if (status === 404) return undefined;
  expect([name, status]).toEqual([name, 200]);
  return JSON.parse(text) as Rendered;
}

test.each(VALUES)(
  "the API server takes everything of '%s', without an unknown field",
  async (values) => {
    for (const body of await render({ values })) {
      const path = `${pathOf(body)}?dryRun=All&fieldValidation=Strict`;
      const { status, text } = await kubernetes.request({ method: "POST", path, body });
      expect([nameOf(body), status, status === 201 ? "" : text]).toEqual([nameOf(body), 201, ""]);
    }
  },
  TEST_MS,
);

async function helm(command: "install" | "upgrade" | "uninstall", ...flags: readonly string[]): Promise<string> {
  const target = command === "uninstall" ? ["cell"] : ["cell", CHART];
  const common = ["-n", NAMESPACE, "--kubeconfig", await kubernetes.kubeconfigFile(), "--timeout", "110s"];
  return runHelm(command, ...target, ...common, ...flags);
}

/** Without a signing root and certificates of our own: they are made. */
const flags = (...sets: readonly string[]): string[] =>
  ["auth.signingRoot.existingSecret=", "internalTls.existingSecret=", "monitoring.serviceMonitor.enabled=true", ...sets].flatMap(
    (set) => ["--set", set],
  );
const values = ["-f", `${CHART}/ci/minimal.yaml`];

/** Objects of the release in helm's record. */
async function objects(): Promise<Rendered[]> {
  return objectsIn(await runHelm("get", "manifest", "cell", "-n", NAMESPACE, "--kubeconfig", await kubernetes.kubeconfigFile()));
}

const keysOf = async (name: string): Promise<string> => {
  const secret = (await find("Secret", name)) as unknown as { data: { keys: string } } | undefined;
  return Buffer.from(secret?.data.keys ?? "", "base64").toString();
};
const signingRoot = (): Promise<string> => keysOf("perdure-signing-root");
const forwarding = (): Promise<string> => keysOf("perdure-forwarding");
/** Of the Secret that is made. */
async function internalTls(): Promise<Readonly<Record<"ca.crt" | "tls.crt" | "tls.key", string>>> {
  const { data } = (await find("Secret", "perdure-internal-tls")) as unknown as { data: Record<string, string> };
  const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
  return { "ca.crt": text("ca.crt"), "tls.crt": text("tls.crt"), "tls.key": text("tls.key") };
}
const generationOf = async (name: string, kind = "Deployment"): Promise<number> => {
  const result = (await find(kind, name, "apps/v1")) as { readonly metadata: { readonly generation?: number } } | undefined;
  return result?.metadata.generation ?? 0;
};
const environments = "/apis/perdure.dev/v1alpha1/environments";

test(
  "it is installed: the database first, a signing root that is made once, everything there is",
  async () => {
    jobs = new PlayedJobs(kubernetes, bundles);
    const notes = await helm("install", ...values, ...flags());
    expect(notes).toContain("https://api.eu.example.org");
    expect(notes).not.toContain("ATTENTION");
    expect(jobs.played).toMatchObject([{ component: "migrations", isGood: true, deployments: [] }]);
    expect(jobs.played[0]?.output).toContain("the database is up to date");
    const made = await objects();
    expect(made.length).toBeGreaterThan(40);
    for (const object of made) {
      const { status } = await get(`${pathOf(object)}/${object.metadata.name}`);
      expect([nameOf(object), hookOf(object), status]).toEqual([nameOf(object), undefined, 200]);
    }
    expect(await signingRoot()).toMatch(/^1 [A-Za-z0-9+/]{43}=\n$/);
    expect(await forwarding()).toMatch(/^1 [A-Za-z0-9+/]{43}=\n$/);
    expect(await forwarding()).not.toBe(await signingRoot());
    const helmValues = await runHelm(
      "get",
      "values",
      "-a",
      "cell",
      "-n",
      NAMESPACE,
      "--kubeconfig",
      await kubernetes.kubeconfigFile(),
    );
    expect(helmValues).not.toContain((await signingRoot()).slice(2, 46));
    // What hooks brought along has gone with them.
    for (const [kind, api] of [
      ["Job", "batch/v1"],
      ["ServiceAccount", "v1"],
      ["NetworkPolicy", "networking.k8s.io/v1"],
    ] as const) {
      expect(await find(kind, "perdure-migrations", api)).toBeUndefined();
    }
  },
  TEST_MS,
);

test(
  "its programs get ready with what their pods are given",
  async () => {
    await using pods = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "perdure-cell-"));
    pods.defer(() => rmSync(folder, { recursive: true }));
    const { certificate, privateKey } = (await makeCertificates()).trusted;
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const [grpc] = (await freePorts(1)) as [number];
    const made = await internalTls();
    const mutualTls = [
      `--tls.authority-file=${file("internal-ca.crt", made["ca.crt"])}`,
      `--tls.certificate-file=${file("internal-tls.crt", made["tls.crt"])}`,
      `--tls.private-key-file=${file("internal-tls.key", made["tls.key"])}`,
    ];
    const tenancyAt = [`--tenancy.addresses=localhost:${grpc}`, ...mutualTls];
    const bindFlags = (...names: readonly string[]): string[] =>
      names.flatMap((name) => [`--${name}.bind-port=0`, `--${name}.bind-address=127.0.0.1`]);
    const flagsOf: Readonly<Record<string, readonly string[]>> = {
      tenancy: [
        ...bindFlags("api", "probes"),
        `--grpc.bind-port=${grpc}`,
        ...mutualTls,
        `--secrets.key-file=${file("keys", await signingRoot())}`,
        `--console.forwarding-key-file=${file("forwarding", await forwarding())}`,
      ],
      gateway: [
        ...bindFlags("ingress", "admin", "probes"),
        ...tenancyAt,
        `--forwarding-key-file=${file("forwarding", await forwarding())}`,
      ],
      "tunnel-relay": [
        ...bindFlags("tunnels", "proxy", "probes"),
        ...tenancyAt,
        `--public-tls.certificate-file=${file("tls.crt", certificate)}`,
        `--public-tls.private-key-file=${file("tls.key", privateKey)}`,
      ],
      operator: bindFlags("probes"),
    };
    const containers = containersIn(await objects());
    expect(containers.map(({ name }) => name).toSorted()).toEqual(Object.keys(flagsOf).toSorted());
    const references = { PERDURE_METADATA__POSTGRES_URL: postgres.url };
    const environment = { KUBECONFIG: await kubernetes.kubeconfigFile() };
    const started: PlayedPod[] = [];
    for (const container of containers) {
      const bundle = bundles[/\/perdure-([a-z-]+):/.exec(container.image)?.[1] ?? ""] as string;
      const flags = flagsOf[container.name] ?? [];
      started.push(pods.use(await PlayedPod.start({ bundle, container, references, environment, flags })));
    }
    expect(await Promise.all(started.map((pod) => pod.probed()))).toEqual(started.map(() => 200));
  },
  TEST_MS,
);

test(
  "an upgrade changes what was requested, rolls nothing else, and keeps the signing root",
  async () => {
    const spec = { environmentId: ID, accountId: "acc_0123456789abcdef", region: "eu", version: "0.1.0", redis: { bundled: {} } };
    const environment = {
      apiVersion: "perdure.dev/v1alpha1",
      kind: "Environment",
      metadata: { name: "env-0123456789abcdef" },
      spec,
    };
    await create(environments, environment);
    const root = await signingRoot();
    const forwarded = await forwarding();
    const certificates = await internalTls();
    const generations = () =>
      Promise.all(["perdure-operator", "perdure-tenancy", "perdure-gateway"].map((name) => generationOf(name)));
    const before = await generations();
    const sets = flags("gateway.tag=0.1.1", "gateway.autoscaling.enabled=false", "tunnelRelay.enabled=false");
    await helm("upgrade", ...values, ...sets);
    expect(jobs.played).toMatchObject([{ component: "migrations" }, { component: "migrations", isGood: true }]);
    expect(await signingRoot()).toBe(root);
    const [operator, tenancy, gateway] = await generations();
    expect([operator, tenancy]).toEqual([before[0], (before[1] ?? 0) + 1]); // Tenancy gets the setting that there are no tunnels.
    expect(gateway).toBeGreaterThan(before[2] ?? 0);
    expect(await find("StatefulSet", "perdure-tunnel-relay", "apps/v1")).toBeUndefined();
    expect(await find("HorizontalPodAutoscaler", "perdure-gateway", "autoscaling/v2")).toBeUndefined();
    expect((await get(`${environments}/env-0123456789abcdef`)).status).toBe(200);
    // And back: nothing that may not change has changed.
    await helm("upgrade", ...values, ...flags("migrations.enabled=false"));
    expect(await generationOf("perdure-tunnel-relay", "StatefulSet")).toBe(1);
    expect(await signingRoot()).toBe(root);
    expect(await forwarding()).toBe(forwarded);
    expect(await internalTls()).toEqual(certificates);
    // A rotated URL of the database replaces the pods that were given it, and no others.
    const rotating = await generations();
    const stringData = { url: `${postgres.url}?application_name=rotated` };
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/perdure-postgres`;
    expect((await kubernetes.request({ method: "PATCH", path, body: { stringData } })).status).toBe(200);
    await helm("upgrade", ...values, ...flags("migrations.enabled=false"));
    // The autoscaler changes gateways whenever it likes.
    expect((await generations()).slice(0, 2)).toEqual([rotating[0], (rotating[1] ?? 0) + 1]);
  },
  TEST_MS,
);

test(
  "it does not go while an environment needs it, and says which; then it goes, and leaves what must not be lost",
  async () => {
    const root = await signingRoot();
    await expect(helm("uninstall")).rejects.toThrow(/perdure-predelete|BackoffLimitExceeded|job failed/i);
    expect(jobs.played.at(-1)).toMatchObject({
      component: "predelete",
      isGood: false,
      output: expect.stringContaining("1 environments (env-0123456789abcdef)"),
    });
    expect(jobs.played.at(-1)?.output).toContain("OPS0006");
    expect(await find("Deployment", "perdure-operator", "apps/v1")).toBeDefined();
    expect((await get(`${environments}/env-0123456789abcdef`)).status).toBe(200);

    expect((await kubernetes.request({ method: "DELETE", path: `${environments}/env-0123456789abcdef` })).status).toBe(200);
    const left = await objects();
    await helm("uninstall");
    expect(jobs.played.at(-1)).toMatchObject({ component: "predelete", isGood: true });
    const kept: string[] = [];
    for (const object of left) {
      const { status, text } = await get(`${pathOf(object)}/${object.metadata.name}`);
      const isGoing =
        status === 200 && (JSON.parse(text) as { metadata: { deletionTimestamp?: string } }).metadata.deletionTimestamp;
      if (status === 200 && isGoing === undefined) kept.push(nameOf(object));
    }
    expect(kept.toSorted()).toEqual([
      "CustomResourceDefinition/cloudenvironments.perdure.dev",
      "CustomResourceDefinition/environments.perdure.dev",
      "CustomResourceDefinition/servicedeployments.perdure.dev",
      "Secret/perdure-signing-root",
    ]);
    expect(await signingRoot()).toBe(root);
  },
  TEST_MS,
);

test(
  "without the platform the operator is installed alone, gets ready, and makes an environment that is called at its Service",
  async () => {
    const alone = ["-f", `${CHART}/ci/operator.yaml`];
    expect(await helm("install", ...alone)).toContain("The operator alone");
    const containers = containersIn(await objects());
    expect(containers.map(({ name }) => name)).toEqual(["operator"]);
    expect(await find("Deployment", "perdure-tenancy", "apps/v1")).toBeUndefined();
    const id = "env_fedcba9876543210";
    const spec = {
      environmentId: id,
      accountId: "acc_0123456789abcdef",
      region: "home",
      version: "0.1.0",
      redis: { bundled: {} },
    };
    const metadata = { name: "env-fedcba9876543210" };
    await create(environments, { apiVersion: "perdure.dev/v1alpha1", kind: "Environment", metadata, spec });
    await using operator = await PlayedPod.start({
      bundle: bundles["operator"] as string,
      container: containers[0] as Container,
      references: {},
      environment: { KUBECONFIG: await kubernetes.kubeconfigFile() },
      flags: ["--probes.bind-port=0", "--probes.bind-address=127.0.0.1"],
    });
    expect(await operator.probed()).toBe(200);
    const front = `/apis/apps/v1/namespaces/${metadata.name}/deployments/front`;
    await eventually("the environment has front pods", async () => (await get(front)).status === 200);
    const address = `runtime.${metadata.name}.svc.cluster.local`;
    expect((await get(front)).text).toContain(`http://${address}:8080/`);
    const made = `${environments}/${metadata.name}`;
    await eventually("its status has the host", async () => (await get(made)).text.includes(`"host":"${address}"`));
  },
  TEST_MS,
);
