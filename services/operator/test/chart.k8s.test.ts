/** What the chart has to do with the operator: exactly the rights that suites prove, and settings that it understands. The rest of the chart: libs/testing/conformance. */
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import type { KubeObject } from "@perdure/kubernetes";
import { KUBERNETES_VERSION, runHelm } from "@perdure/servers";
import { parseAllDocuments } from "yaml";
import { loadSettings } from "../src/process/config.js";
import {
  clusterRules,
  kedaRules,
  ownNamespaceRules,
  REMOVAL_ROLE,
  removalRules,
  SECRETS_ROLE,
  secretsRules,
  snapshotRules,
} from "./rbac.js";

const FIRST_MS = 45 * 60_000;
const NAMESPACE = "perdure-system";
const CHART = fileURLToPath(new URL("../../../charts/perdure", import.meta.url));

/** Of the operator only. */
async function rendered(name: string, ...sets: readonly string[]): Promise<KubeObject[]> {
  const flags = ["--kube-version", KUBERNETES_VERSION, "-n", NAMESPACE, "-f", `${CHART}/ci/${name}.yaml`];
  const text = await runHelm("template", "cell", CHART, ...flags, ...sets);
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object?.metadata.labels?.["app.kubernetes.io/component"] === "operator") as KubeObject[];
}

interface Rules {
  readonly rules: unknown;
}

test(
  "the roles are those that the operator's suites run with, and no more",
  async () => {
    const objects = (await rendered("minimal")) as unknown as readonly (KubeObject & Rules)[];
    const rulesOf = (kind: string, name: string): unknown =>
      objects.find((one) => one.kind === kind && one.metadata.name === name)?.rules;
    expect(rulesOf("ClusterRole", "perdure-operator")).toEqual(clusterRules);
    expect(rulesOf("ClusterRole", SECRETS_ROLE)).toEqual(secretsRules);
    expect(rulesOf("ClusterRole", REMOVAL_ROLE)).toEqual(removalRules);
    expect(rulesOf("ClusterRole", "perdure-operator-snapshots")).toEqual(snapshotRules);
    expect(rulesOf("ClusterRole", "perdure-operator-keda")).toEqual(kedaRules);
    expect(rulesOf("Role", "perdure-operator")).toEqual(ownNamespaceRules);
    expect(objects.filter(({ kind }) => /Role$/.test(kind))).toHaveLength(6);
  },
  FIRST_MS,
);

interface PodTemplate {
  readonly template: {
    readonly spec: {
      readonly containers: readonly {
        readonly image: string;
        readonly env: readonly { readonly name: string; readonly value?: string }[];
      }[];
    };
  };
}

test(
  "what is off takes no rights",
  async () => {
    const sets = ["snapshots", "keda"].flatMap((api) => ["--set", `operator.optionalApis.${api}=off`]);
    const roles = (await rendered("minimal", ...sets))
      .filter(({ kind }) => /Role$/.test(kind))
      .map(({ metadata }) => metadata.name);
    expect(roles.toSorted()).toEqual(["perdure-operator", "perdure-operator", REMOVAL_ROLE, SECRETS_ROLE]);
  },
  FIRST_MS,
);

test.each(["minimal", "everything"])(
  "the operator parses what '%s' reports",
  async (name) => {
    const deployment = (await rendered(name)).find(({ kind }) => kind === "Deployment") as KubeObject;
    const { env } = (deployment["spec"] as PodTemplate).template.spec.containers[0]!;
    const environment = Object.fromEntries(env.map((variable) => [variable.name, variable.value ?? "perdure-operator-0"]));
    const { values: settings } = loadSettings({ file: undefined, environment, flags: [] });
    expect(settings).toMatchObject({
      kubernetes: { namespace: NAMESPACE, secretsRole: SECRETS_ROLE, dnsPodLabels: { "k8s-app": "kube-dns" } },
      postgres: { secretName: "perdure-postgres" },
      cell: { domain: "example.org" },
      network: { postgresCidrs: name === "everything" ? ["10.1.2.3/32"] : [] },
    });
  },
  FIRST_MS,
);
