/** The objects of a release of the chart, rendered by helm, for tests to query. */

import { join } from "node:path";
import { ROOT } from "@perdure/dev-cluster";
import { KUBERNETES_VERSION, runHelm } from "@perdure/servers";
import { parseAllDocuments } from "yaml";

export const CHART = join(ROOT, "charts/perdure");
export const DEFINITIONS_CHART = join(ROOT, "charts/perdure-crds");
export const NAMESPACE = "perdure-system";
export const VALUES = ["minimal", "everything", "loadbalancer", "ingress", "operator"] as const;
export type ValuesName = (typeof VALUES)[number];

/** Groups that a cluster may lack. */
export const OPTIONAL_APIS = ["gateway.networking.k8s.io/v1", "cert-manager.io/v1", "monitoring.coreos.com/v1"];

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: Readonly<Record<string, unknown>>;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env: readonly Variable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: { readonly requests: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

export interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly Container[];
    readonly serviceAccountName: string;
    readonly [field: string]: unknown;
  };
}

type Labels = Readonly<Record<string, string>>;

/** Every field of any kind that a test reads. */
export interface Spec {
  readonly replicas?: number;
  readonly selector?: Labels & { readonly matchLabels?: Labels };
  readonly podSelector?: { readonly matchLabels?: Labels };
  readonly template?: PodTemplate;
  readonly serviceName?: string;
  readonly podManagementPolicy?: string;
  readonly volumeClaimTemplates?: unknown;
  readonly clusterIP?: string;
  readonly ports?: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[];
  readonly [field: string]: unknown;
}

export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec: Spec;
  readonly [field: string]: unknown;
}

export interface RenderOptions {
  readonly values?: ValuesName;
  readonly sets?: readonly string[];
  /** Chart; that of this tree when absent. */
  readonly chart?: string;
  /** All optional ones when absent. */
  readonly apis?: readonly string[];
}

/** Returns the text that helm prints for a release that is not installed. Rejects with helm's error. */
export function renderText({
  values = "minimal",
  sets = [],
  apis = OPTIONAL_APIS,
  chart = CHART,
}: RenderOptions = {}): Promise<string> {
  return runHelm(
    ...["template", "cell", chart, "--kube-version", KUBERNETES_VERSION, "-n", NAMESPACE, "-f", join(CHART, `ci/${values}.yaml`)],
    ...apis.flatMap((api) => ["--api-versions", api]),
    ...sets.flatMap((set) => ["--set", set]),
  );
}

export async function render(options?: RenderOptions): Promise<Rendered[]> {
  return objectsIn(await renderText(options));
}

export function objectsIn(text: string): Rendered[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);
}

export const nameOf = ({ kind, metadata }: Rendered): string => `${kind}/${metadata.name}`;
export const hookOf = ({ metadata }: Rendered): string | undefined => metadata.annotations?.["helm.sh/hook"];

/** Objects that make pods. */
export const workloadsIn = (objects: readonly Rendered[]): Rendered[] =>
  objects.filter(({ spec }) => spec?.template !== undefined);
export const templateOf = ({ spec }: Rendered): PodTemplate => spec.template as PodTemplate;
export const containersIn = (objects: readonly Rendered[]): Container[] =>
  workloadsIn(objects).flatMap((object) => templateOf(object).spec.containers);

export const selects = (selector: Labels, labels: Labels): boolean =>
  Object.entries(selector).every(([label, value]) => labels[label] === value);
