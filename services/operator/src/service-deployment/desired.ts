/** The objects of one version, as functions of its spec: a ReplicaSet, a Service in front of it, an autoscaler while it drains. */
import { unreachable } from "@perdure/base";
import { bareIdOf, GROUP_VERSION, type OwnerReference, type ServiceDeployment } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import type { Labels } from "../cell.js";
import { MANAGED_BY } from "../desired/labels.js";
import { shortOf, TEMPLATE, TEMPLATE_HASH, versionName } from "./names.js";

/** Port of every version's Service; its target is the container's port of this name, or this number. */
export const SERVICE_PORT = 9080;
const PORT_NAME = "perdure";

export interface PlainEnvVariable {
  readonly name: string;
  readonly value: string;
}

interface Container {
  readonly name?: string;
  readonly env?: readonly { readonly name?: string }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort?: number }[];
}

interface PodTemplate {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Labels };
  readonly spec?: { readonly containers?: readonly Container[]; readonly initContainers?: readonly Container[] };
}

const templateOf = ({ spec }: ServiceDeployment): PodTemplate => spec.template as PodTemplate;

/**
 * What is wrong with a template, checked before it is applied; undefined when it is valid. `reserved`: variables that the operator sets.
 */
export function problemOf(deployment: ServiceDeployment, reserved: readonly string[]): string | undefined {
  const { metadata, spec } = templateOf(deployment);
  const labels = metadata?.labels ?? {};
  const { matchLabels = {}, matchExpressions = [] } = deployment.spec.selector;
  const missing = Object.entries(matchLabels).find(([name, value]) => labels[name] !== value);
  if (missing !== undefined) return `the template's labels lack ${missing[0]}: "${missing[1]}", which the selector requires`;
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) return "the selector selects everything";
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  if ((spec?.containers ?? []).length === 0) return "the template has no container";
  for (const { name = "", env = [] } of containers) {
    const clash = env.find((variable) => reserved.includes(variable.name ?? ""));
    if (clash !== undefined) return `container '${name}' sets ${clash.name}, which is the operator's with tunnelMode in-process`;
  }
  return undefined;
}

/** The selector of one version's pods. */
export function selectorOf({ spec }: ServiceDeployment, hash: string): ServiceDeployment["spec"]["selector"] {
  return { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, [TEMPLATE_HASH]: shortOf(hash) } };
}

/** Selector text for the scale subresource: only the latest version's pods, or an autoscaler would count draining ones as well. */
export function selectorText(selector: ServiceDeployment["spec"]["selector"]): string {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const equal = Object.entries(matchLabels).map(([name, value]) => `${name}=${value}`);
  const more = matchExpressions.map(({ key, operator, values = [] }) => requirementText(key, operator, values));
  return [...equal.sort(), ...more].join(",");
}

type SelectorOperator = NonNullable<ServiceDeployment["spec"]["selector"]["matchExpressions"]>[number]["operator"];

function requirementText(key: string, operator: SelectorOperator, values: readonly string[]): string {
  switch (operator) {
    case "In":
      return `${key} in (${values.join(",")})`;
    case "NotIn":
      return `${key} notin (${values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return unreachable(operator);
  }
}

/** The ReplicaSet of the latest version. `variables` go to every container. */
export function replicaSet(deployment: ServiceDeployment, hash: string, variables: readonly PlainEnvVariable[]): KubeObject {
  const { replicas, minReadySeconds } = deployment.spec;
  const template = templateOf(deployment);
  const labels = { ...template.metadata?.labels, ...invitation(deployment), [TEMPLATE_HASH]: shortOf(hash) };
  const { annotations } = template.metadata ?? {};
  return childOf(deployment, resources.replicaSets, versionName(deployment.metadata.name, hash), {
    annotations: { [TEMPLATE]: hash },
    content: {
      spec: {
        replicas,
        ...(minReadySeconds === 0 ? {} : { minReadySeconds }),
        selector: selectorOf(deployment, hash),
        template: {
          metadata: { labels, ...(annotations === undefined ? {} : { annotations }) },
          spec: withVariables(template.spec ?? {}, variables),
        },
      },
    },
  });
}

/** Pods that carry it may be called by runtimes of that environment (kubernetes.md §2). */
function invitation({ spec }: ServiceDeployment): Labels {
  const { environment } = spec.perdure.register;
  return environment === undefined ? {} : { [`perdure.dev/allow-${bareIdOf(environment)}`]: "true" };
}

function withVariables(spec: NonNullable<PodTemplate["spec"]>, variables: readonly PlainEnvVariable[]): PodTemplate["spec"] {
  if (variables.length === 0) return spec;
  const each = (container: Container): Container => ({ ...container, env: [...(container.env ?? []), ...variables] });
  const { containers = [], initContainers } = spec;
  const inits = initContainers === undefined ? {} : { initContainers: initContainers.map(each) };
  return { ...spec, ...inits, containers: containers.map(each) };
}

/** The Service of a version that is running; `name` and `hash` are the version's. */
export function serviceOf(deployment: ServiceDeployment, name: string, hash: string): KubeObject {
  const { protocol } = deployment.spec.perdure;
  const { matchLabels = {} } = selectorOf(deployment, hash);
  const ports = (templateOf(deployment).spec?.containers ?? []).flatMap(({ ports: all = [] }) => all);
  const targetPort = ports.some((port) => port.name === PORT_NAME) ? PORT_NAME : SERVICE_PORT;
  const port = {
    name: PORT_NAME,
    port: SERVICE_PORT,
    targetPort,
    protocol: "TCP",
    ...(protocol === "http1" ? {} : { appProtocol: "kubernetes.io/h2c" }),
  };
  return childOf(deployment, resources.services, name, { content: { spec: { selector: matchLabels, ports: [port] } } });
}

/** Undefined where the spec has no autoscaling. */
export function drainAutoscaler(deployment: ServiceDeployment, name: string): KubeObject | undefined {
  const { drainAutoscaling } = deployment.spec;
  if (drainAutoscaling === undefined) return undefined;
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "ReplicaSet", name };
  return childOf(deployment, resources.autoscalers, name, { content: { spec: { ...drainAutoscaling, scaleTargetRef } } });
}

interface ChildContent {
  readonly annotations?: Labels;
  readonly content: Readonly<Record<string, unknown>>;
}

function childOf(
  { metadata }: ServiceDeployment,
  { apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">,
  name: string,
  { annotations, content }: ChildContent,
): KubeObject {
  const { name: ownerName, namespace = "", uid = "" } = metadata;
  const labels = { "app.kubernetes.io/managed-by": MANAGED_BY };
  const owner: OwnerReference = {
    apiVersion: GROUP_VERSION,
    kind: "ServiceDeployment",
    name: ownerName,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, labels, ...(annotations === undefined ? {} : { annotations }), ownerReferences: [owner] },
    ...content,
  };
}
