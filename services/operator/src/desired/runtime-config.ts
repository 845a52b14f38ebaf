/** Limits and retention of an environment as settings of its processes; a change of them changes the pods' template. */
import { createHash } from "node:crypto";
import { type EnvironmentResource, objectNameOf, secondsOf } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import type { Cell } from "../cell.js";
import { ADOPT_ANNOTATION, childOf } from "./labels.js";
import { PORTS } from "./network-policies.js";
import { type EnvVariable, settingName } from "./pods.js";
import { isReplicated } from "./redis.js";
import { frontsOf, frontsOfSize, sizingOf } from "./sizes.js";
import { tunnelSettings } from "./tunnels.js";

const CONFIG_MAP = "runtime-config";

/** Where clients call an environment: its host at the cloud gateway, or its Service where there is none. */
export function hostOf({ spec }: EnvironmentResource, { region, domain, clusterDns, hasCloudGateway }: Cell): string {
  if (!hasCloudGateway) return `runtime.${objectNameOf(spec.environmentId)}.svc.${clusterDns}`;
  return `${spec.environmentId.slice("env_".length)}.env.${region}.${domain}`;
}

/** Where clients reach an environment, without a slash at the end. Inside the cluster there is no TLS. */
export function endpointsOf(environment: EnvironmentResource, cell: Cell): { readonly ingress: string; readonly admin: string } {
  const { scheme, ports } = cell.hasCloudGateway ? cell.edge : { scheme: "http", ports: PORTS };
  const host = hostOf(environment, cell);
  return { ingress: `${scheme}://${host}:${ports.ingress}`, admin: `${scheme}://${host}:${ports.admin}` };
}

/**
 * Identity of an environment that was created again, from a snapshot or deliberately with the value of `adopt-retained`: a name that no
 * earlier object of this id had. Its workers fence those of the earlier object, and accept once that Redis holds other data than PostgreSQL
 * recorded (STO0005). The same when the loss of its volumes was accepted.
 */
function instanceIdOf({ spec, status, metadata }: EnvironmentResource): string | undefined {
  const isMadeAgain = spec.backup?.restoreFrom !== undefined || metadata.annotations?.[ADOPT_ANNOTATION] !== undefined;
  const loss = status?.data?.acceptedLoss;
  if (loss !== undefined) return `${metadata.uid}-${loss}`;
  return isMadeAgain ? metadata.uid : undefined;
}

/** Limit of each front pod: clients are spread over all of them. */
function requestsPerFront(environment: EnvironmentResource, fronts: number): string {
  const perSecond = environment.spec.limits.requestsPerSecond ?? sizingOf(environment).requestsPerSecond;
  return String(Math.ceil(perSecond / Math.max(1, fronts)));
}

export type EnvironmentProgram = "worker" | "registry" | "gateway" | "admin";

/** Names of settings by program: a program refuses to start with a setting that it does not declare. */
const PROGRAMS: Readonly<Record<EnvironmentProgram, readonly string[]>> = {
  worker: ["environment-name", "worker.", "redis.", "tunnels."],
  registry: ["environment-name", "worker.default-", "redis.", "tunnels.", "limits."],
  gateway: ["ingress."],
  admin: ["environment-name", "redis."],
};
const EVERYBODY = ["cluster-name", "log-format", "tracing-endpoint"];

/** Settings of the runtime's processes, by dotted name. */
export function runtimeSettings(environment: EnvironmentResource, { tracingEndpoint }: Cell): Readonly<Record<string, string>> {
  const { spec } = environment;
  const sizing = sizingOf(environment);
  const keyPrefix = spec.redis.external?.keyPrefix;
  const instanceId = instanceIdOf(environment);
  return {
    "cluster-name": spec.environmentId,
    "environment-name": spec.environmentId,
    "log-format": "json",
    // Set only with a collector, so that the pods of a cell without one are not replaced.
    ...(tracingEndpoint === undefined ? {} : { "tracing-endpoint": tracingEndpoint }),
    "worker.default-journal-retention": `${secondsOf(spec.retention.completedJournal)}s`,
    "worker.default-idempotency-retention": `${secondsOf(spec.retention.idempotency)}s`,
    "worker.default-workflow-retention": `${secondsOf(spec.retention.workflow)}s`,
    "worker.num-partitions": String(spec.workers.partitions),
    "worker.invoker.concurrent-invocations-limit": String(spec.limits.concurrentInvocations ?? sizing.concurrentInvocations),
    "worker.invoker.journal-entries-limit": String(spec.limits.maxJournalEntries),
    // One replica has each commit before it is acknowledged; the start script finds out which one when it must.
    ...(isReplicated(environment) ? { "redis.replicas": "1" } : {}),
    ...(keyPrefix === undefined ? {} : { "redis.key-prefix": keyPrefix }),
    ...(instanceId === undefined ? {} : { "worker.incarnation": instanceId }),
    ...tunnelSettings(environment),
    ...planSettings(environment),
    "ingress.request-size-limit": String(spec.limits.maxBodyBytes),
    [REQUESTS_PER_FRONT]: requestsPerFront(environment, frontsOf(environment)),
  };
}

const REQUESTS_PER_FRONT = "ingress.requests-per-second-limit";

/**
 * Hash of the settings that require a replacement of workers. The number of front pods that share the requests is excluded: more workers
 * may add a second front pod, which must not replace the running workers. The share by size stays in the hash, as in earlier operators, so
 * that this one replaces no worker.
 */
export function workerConfigHash(environment: EnvironmentResource, cell: Cell): string {
  const share = requestsPerFront(environment, frontsOfSize(environment));
  return hashOf({ ...runtimeSettings(environment, cell), [REQUESTS_PER_FRONT]: share });
}

/** Limits of what may be registered; a limit that the spec does not set is left out. */
function planSettings({ spec: { limits } }: EnvironmentResource): Readonly<Record<string, string>> {
  const { deployments, services, subscriptions, maxRetention } = limits;
  const retention = maxRetention === undefined ? undefined : `${secondsOf(maxRetention)}s`;
  const given = Object.entries({ deployments, services, subscriptions, retention }).filter(([, bound]) => bound !== undefined);
  return Object.fromEntries(given.map(([name, bound]) => [`limits.${name}`, String(bound)]));
}

export function runtimeConfig(environment: EnvironmentResource, cell: Cell): KubeObject {
  const data = Object.fromEntries(
    Object.entries(runtimeSettings(environment, cell)).map(([name, value]) => [settingName(name), value]),
  );
  return childOf(environment, { ...resources.configMaps, name: CONFIG_MAP }, { data });
}

/** Variables of the ConfigMap that a program receives. */
export function configVariables(
  environment: EnvironmentResource,
  cell: Cell,
  program: EnvironmentProgram,
): readonly EnvVariable[] {
  const names = [...EVERYBODY, ...PROGRAMS[program]];
  const settings = Object.keys(runtimeSettings(environment, cell))
    .filter((name) => names.some((one) => (/[.-]$/.test(one) ? name.startsWith(one) : name === one)))
    .map((name) => ({ name: settingName(name), valueFrom: { configMapKeyRef: { name: CONFIG_MAP, key: settingName(name) } } }));
  return cell.tracingEndpoint === undefined ? settings : [...settings, resourceVariable(environment, program)];
}

/** Resource attributes of spans; `POD_NAME` is a variable of every container, declared before this one. */
function resourceVariable({ spec: { environmentId } }: EnvironmentResource, program: EnvironmentProgram): EnvVariable {
  const of = `k8s.namespace.name=${objectNameOf(environmentId)},k8s.pod.name=$(POD_NAME),k8s.container.name=${program}`;
  return { name: "OTEL_RESOURCE_ATTRIBUTES", value: of };
}

/** Hash of any JSON value; the order of fields does not matter. */
export function hashOf(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, 16);
}

function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(",")}}`;
}
