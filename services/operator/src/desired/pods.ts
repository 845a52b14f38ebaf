/** Security settings of all pods of a runtime: no root, a read-only file system, no credentials of the cluster (kubernetes.md §2). */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { Cell } from "../cell.js";
import { type Component, given, selectorOf } from "./labels.js";

/** Images run as this user; it owns what they may write. */
const USER = 10_001;

export const podSecurity = {
  runAsNonRoot: true,
  runAsUser: USER,
  runAsGroup: USER,
  fsGroup: USER,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
} as const;

export const containerSecurity = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
} as const;

export function podDefaults(cell: Cell, serviceAccountName: string): Readonly<Record<string, unknown>> {
  const { imagePullSecrets } = cell;
  return {
    serviceAccountName,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: podSecurity,
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
  };
}

/** Image and pull policy as fields of a container. */
export function imageOf(cell: Cell, program: string, version: string): Readonly<Record<string, string>> {
  const digest = cell.runtimeDigests[`${program}:${version}`];
  return pulled(cell, `${cell.imageRegistry}/perdure-${program}:${version}${digest === undefined ? "" : `@${digest}`}`);
}

export function pulled({ imagePullPolicy }: Cell, image: string): Readonly<Record<string, string>> {
  return imagePullPolicy === undefined ? { image } : { image, imagePullPolicy };
}

export interface EnvVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: Readonly<Record<string, unknown>>;
}

/** `worker.num-partitions` → `PERDURE_WORKER__NUM_PARTITIONS`. */
export function settingName(setting: string): string {
  return `PERDURE_${setting.replaceAll(".", "__").replaceAll("-", "_").toUpperCase()}`;
}

export const setting = (name: string, value: string | number): EnvVariable => ({ name: settingName(name), value: String(value) });

export function secretSetting(name: string, secret: string, key: string): EnvVariable {
  return { name: settingName(name), valueFrom: { secretKeyRef: { name: secret, key } } };
}

interface HttpProbe {
  readonly path: string;
  readonly port: string;
  readonly periodSeconds: number;
  readonly failureThreshold: number;
}

const probe = ({ path, port, periodSeconds, failureThreshold }: HttpProbe): Readonly<Record<string, unknown>> => ({
  httpGet: { path, port, scheme: "HTTP" },
  periodSeconds,
  failureThreshold,
  successThreshold: 1,
  timeoutSeconds: 2,
});

/** Liveness checks that the event loop responds. It does not check Redis, or an outage would restart every worker of a region. */
export function probesOf(port: string): Readonly<Record<string, unknown>> {
  return {
    startupProbe: probe({ path: "/livez", port, periodSeconds: 2, failureThreshold: 60 }),
    livenessProbe: probe({ path: "/livez", port, periodSeconds: 10, failureThreshold: 3 }),
    readinessProbe: probe({ path: "/readyz", port, periodSeconds: 5, failureThreshold: 2 }),
  };
}

/** Placement of the pods of a component: as the spec requests, and spread over zones and nodes as far as possible. */
export function placementOf(environment: EnvironmentResource, component: Component): Readonly<Record<string, unknown>> {
  const { nodeSelector, tolerations, priorityClassName, topologySpread } = environment.spec.workers;
  const topologyKeys = { zone: "topology.kubernetes.io/zone", node: "kubernetes.io/hostname", none: undefined };
  const topologyKey = topologyKeys[topologySpread];
  const matchLabels = selectorOf(environment, component);
  const whenUnsatisfiable = "ScheduleAnyway";
  const spread =
    topologyKey === undefined ? undefined : [{ maxSkew: 1, topologyKey, whenUnsatisfiable, labelSelector: { matchLabels } }];
  return given({
    nodeSelector: nodeSelector !== undefined && Object.keys(nodeSelector).length > 0 ? nodeSelector : undefined,
    tolerations: tolerations !== undefined && tolerations.length > 0 ? tolerations : undefined,
    priorityClassName,
    topologySpreadConstraints: spread,
  });
}
