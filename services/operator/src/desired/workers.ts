/**
 * The pods that run an environment. Workers lead its partitions; they are a StatefulSet, so that each has a stable name. The front serves
 * requests: a registry, the ingress and the management API of this environment alone. A worker that receives SIGTERM hands its partitions
 * over one by one; draining only starts that earlier, and fencing keeps correctness independent of it (kubernetes.md §2).
 */
import { present } from "@perdure/base";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import type { Cell } from "../cell.js";
import { GRACE_AFTER_DRAIN_S } from "../limits.js";
import { childOf, podLabelsOf, selectorOf } from "./labels.js";
import { PORTS } from "./network-policies.js";
import {
  containerSecurity,
  type EnvVariable,
  imageOf,
  placementOf,
  podDefaults,
  probesOf,
  secretSetting,
  setting,
  settingName,
} from "./pods.js";
import { isReplicated, REDIS_AUTH, redisPrimaryHost } from "./redis.js";
import { configVariables, type EnvironmentProgram, endpointsOf, hashOf } from "./runtime-config.js";
import { ADMIN_MEMORY_LIMIT, frontRequests, frontsOf, quantityOf, type ResourceAmounts, sizingOf } from "./sizes.js";
import { grpcVariables, trustMounts, trustVariables, trustVolumes } from "./trust.js";
import { tunnelMounts, tunnelVolumes } from "./tunnels.js";

/** Annotation of the StatefulSet with the hash of the template that it was given last. */
export const TEMPLATE_HASH = "perdure.dev/template-hash";
export const SIGNING_KEY = "signing-key";
export const POSTGRES = "postgres";
/** Ports of the front's processes; they share one address. */
const FRONT_PROBES = { registry: PORTS.probes, gateway: PORTS.gatewayProbes } as const;
const KEYS_PATH = "/var/run/perdure/keys";

/** Hashes of what pods are given besides their template: a change of one rolls them. */
export interface Inputs {
  readonly config: string;
  readonly secrets: string;
  /** Undefined: the template leaves the field out, so that the API server keeps its value. */
  readonly replicas: number | undefined;
  /** Workers with this ordinal and above may be replaced by ones of a new template; 0 when absent. */
  readonly partition?: number;
}

export function workerRequests(environment: EnvironmentResource): ResourceAmounts {
  const { worker } = sizingOf(environment);
  return { ...worker, ...environment.spec.workers.resources?.requests } as ResourceAmounts;
}

export function frontReplicas(environment: EnvironmentResource): number {
  return environment.spec.suspended ? 0 : frontsOf(environment);
}

// ── workers ──────────────────────────────────────────────────────────────────────────────────────

export function workers(environment: EnvironmentResource, cell: Cell, inputs: Inputs): KubeObject[] {
  return [workerService(environment), workerSet(environment, cell, inputs)];
}

/** Hash of the template of workers; changes whenever pods have to be replaced. */
export function workerTemplateHash(environment: EnvironmentResource, cell: Cell, inputs: Omit<Inputs, "replicas">): string {
  return hashOf(workerTemplate(environment, cell, inputs));
}

function workerService(environment: EnvironmentResource): KubeObject {
  return childOf(
    environment,
    { ...resources.services, name: "worker-headless", component: "worker" },
    {
      spec: {
        clusterIP: "None",
        publishNotReadyAddresses: true, // Workers connect to each other before they are ready.
        selector: selectorOf(environment, "worker"),
        ports: [{ name: "grpc", port: PORTS.grpc, protocol: "TCP", targetPort: "grpc" }],
      },
    },
  );
}

const workerAddresses = (environment: EnvironmentResource, { clusterDns }: Cell): string =>
  `worker-headless.${objectNameOf(environment.spec.environmentId)}.svc.${clusterDns}:${PORTS.grpc}`;

const registryAddress = (environment: EnvironmentResource, { clusterDns }: Cell): string =>
  `registry.${objectNameOf(environment.spec.environmentId)}.svc.${clusterDns}:${PORTS.grpc}`;

function workerTemplate(environment: EnvironmentResource, cell: Cell, inputs: Omit<Inputs, "replicas">) {
  const { drainSeconds } = environment.spec.workers;
  const namespace = objectNameOf(environment.spec.environmentId);
  const own = `$(POD_NAME).worker-headless.${namespace}.svc.${cell.clusterDns}:${PORTS.grpc}`;
  const env: readonly EnvVariable[] = [
    podName,
    { name: settingName("node-name"), value: "$(POD_NAME)" },
    setting("advertised-address", own),
    setting("shutdown-timeout", `${Math.max(1, drainSeconds)}s`),
    setting("registry.addresses", registryAddress(environment, cell)),
    ...sharedVariables(environment, cell),
    ...trustVariables(environment, cell),
    ...grpcVariables(cell),
    ...configVariables(environment, cell, "worker"),
  ];
  const { limits } = environment.spec.workers.resources ?? {};
  const requests = workerRequests(environment);
  const container = {
    name: "worker",
    ...imageOf(cell, "worker", environment.spec.version),
    env,
    ports: [
      { name: "grpc", containerPort: PORTS.grpc, protocol: "TCP" },
      { name: "probes", containerPort: PORTS.probes, protocol: "TCP" },
    ],
    resources: { requests, limits: { memory: requests.memory, ...limits } },
    securityContext: containerSecurity,
    volumeMounts: [keysMount, scratchMount, ...trustMounts(environment, cell), ...tunnelMounts(environment, "worker")],
    // However the pod is ended, it hands its partitions over first; a worker that has drained already responds at once.
    lifecycle: { preStop: { httpGet: { path: "/prestop", port: "probes", scheme: "HTTP" } } },
    ...probesOf("probes"),
  };
  const podAnnotations = { ...environment.spec.workers.podAnnotations, ...hashes(inputs) };
  return {
    metadata: { labels: podLabelsOf(environment, "worker"), annotations: podAnnotations },
    spec: {
      ...podDefaults(cell, "worker"),
      ...placementOf(environment, "worker"),
      terminationGracePeriodSeconds: drainSeconds + GRACE_AFTER_DRAIN_S,
      containers: [container],
      volumes: volumesOf(environment, cell),
    },
  };
}

function workerSet(environment: EnvironmentResource, cell: Cell, { replicas, partition = 0, ...inputs }: Inputs): KubeObject {
  const template = workerTemplate(environment, cell, inputs);
  const annotations = { [TEMPLATE_HASH]: hashOf(template) };
  return childOf(
    environment,
    { ...resources.statefulSets, name: "worker", component: "worker", annotations },
    {
      spec: {
        serviceName: "worker-headless",
        podManagementPolicy: "Parallel",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } },
        selector: { matchLabels: selectorOf(environment, "worker") },
        ...(replicas === undefined ? {} : { replicas }),
        template,
      },
    },
  );
}

// ── the front ────────────────────────────────────────────────────────────────────────────────────

/** `isClosed`: the front has no pods while everything else runs. */
type FrontInputs = Omit<Inputs, "replicas" | "partition"> & { readonly isClosed?: boolean };

export function front(environment: EnvironmentResource, cell: Cell, inputs: FrontInputs): KubeObject[] {
  return [frontService(environment), registryService(environment), frontDeployment(environment, cell, inputs)];
}

/** The Service that the platform's clients connect to. */
function frontService(environment: EnvironmentResource): KubeObject {
  return childOf(
    environment,
    { ...resources.services, name: "runtime", component: "front" },
    {
      spec: {
        type: "ClusterIP",
        selector: selectorOf(environment, "front"),
        ports: [
          { name: "ingress", port: PORTS.ingress, protocol: "TCP", targetPort: "ingress" },
          { name: "admin", port: PORTS.admin, protocol: "TCP", targetPort: "admin" },
        ],
      },
    },
  );
}

/** Headless: workers call the next registry when one does not respond. */
function registryService(environment: EnvironmentResource): KubeObject {
  return childOf(
    environment,
    { ...resources.services, name: "registry", component: "front" },
    {
      spec: {
        clusterIP: "None",
        publishNotReadyAddresses: true,
        selector: selectorOf(environment, "front"),
        ports: [{ name: "grpc", port: PORTS.grpc, protocol: "TCP", targetPort: "grpc" }],
      },
    },
  );
}

function frontDeployment(environment: EnvironmentResource, cell: Cell, inputs: FrontInputs): KubeObject {
  const workerAt = setting("worker.addresses", workerAddresses(environment, cell));
  const registryAt = setting("registry.addresses", `localhost:${PORTS.grpc}`);
  const node: EnvVariable = { name: settingName("node-name"), value: "$(POD_NAME)" };
  const common: readonly EnvVariable[] = [podName, node, workerAt, ...trustVariables(environment, cell)];
  const advertised = setting("ingress.advertised-address", `${endpointsOf(environment, cell).ingress}/`);
  const containers = [
    frontContainer(
      environment,
      cell,
      "registry",
      [
        ...common,
        ...sharedVariables(environment, cell),
        ...grpcVariables(cell),
        setting("probes.bind-port", FRONT_PROBES.registry),
      ],
      {
        grpc: PORTS.grpc,
        probes: FRONT_PROBES.registry,
      },
    ),
    frontContainer(environment, cell, "gateway", [...common, registryAt, setting("probes.bind-port", FRONT_PROBES.gateway)], {
      ingress: PORTS.ingress,
      "gateway-probes": FRONT_PROBES.gateway,
    }),
    frontContainer(environment, cell, "admin", [...common, ...sharedVariables(environment, cell), registryAt, advertised], {
      admin: PORTS.admin,
    }),
  ];
  return childOf(
    environment,
    { ...resources.deployments, name: "front", component: "front" },
    {
      spec: {
        replicas: inputs.isClosed === true ? 0 : frontReplicas(environment),
        selector: { matchLabels: selectorOf(environment, "front") },
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
        template: {
          metadata: { labels: podLabelsOf(environment, "front"), annotations: hashes(inputs) },
          spec: {
            ...podDefaults(cell, "front"),
            ...placementOf(environment, "front"),
            terminationGracePeriodSeconds: 60,
            containers,
            volumes: volumesOf(environment, cell),
          },
        },
      },
    },
  );
}

/** The last port in the list is the one that is probed. */
function frontContainer(
  environment: EnvironmentResource,
  cell: Cell,
  program: Exclude<EnvironmentProgram, "worker">,
  env: readonly EnvVariable[],
  ports: Readonly<Record<string, number>>,
): Readonly<Record<string, unknown>> {
  const probed = present(Object.keys(ports).at(-1));
  return {
    name: program,
    ...imageOf(cell, program, environment.spec.version),
    env: [...env, ...configVariables(environment, cell, program)],
    ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort, protocol: "TCP" })),
    resources: frontResources(environment, program),
    securityContext: containerSecurity,
    volumeMounts: [keysMount, scratchMount, ...trustMounts(environment, cell), ...tunnelMounts(environment, program)],
    ...probesOf(probed),
  };
}

/** The management API gets more while SQL statements run, unless the spec sets its resources. */
function frontResources(environment: EnvironmentResource, program: EnvironmentProgram): Readonly<Record<string, unknown>> {
  const requests = frontRequests(environment);
  const isBelow = quantityOf(requests.memory) < quantityOf(ADMIN_MEMORY_LIMIT);
  const memory = program === "admin" && isBelow ? ADMIN_MEMORY_LIMIT : requests.memory;
  return { requests, limits: { memory, ...environment.spec.front?.resources?.limits } };
}

// ── what both share ──────────────────────────────────────────────────────────────────────────────

const podName: EnvVariable = { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } };
/** Of three Redis, the primary changes: its address is that of a Service, with the password of the Secret. */
function redisVariables(environment: EnvironmentResource, cell: Cell): readonly EnvVariable[] {
  if (!isReplicated(environment)) return [secretSetting("redis.url", REDIS_AUTH, "url")];
  const host = redisPrimaryHost(objectNameOf(environment.spec.environmentId), cell);
  const password = { name: "REDIS_PASSWORD", valueFrom: { secretKeyRef: { name: REDIS_AUTH, key: "password" } } };
  return [password, setting("redis.url", `redis://:$(REDIS_PASSWORD)@${host}:${PORTS.redis}`)];
}
const sharedVariables = (environment: EnvironmentResource, cell: Cell): readonly EnvVariable[] => [
  ...redisVariables(environment, cell),
  secretSetting("metadata.postgres-url", POSTGRES, "url"),
  setting("request-identity-private-key-pem-file", `${KEYS_PATH}/current.pem`),
];
const keysMount = { name: "keys", mountPath: KEYS_PATH, readOnly: true };
const scratchMount = { name: "scratch", mountPath: "/tmp" };
const volumes = [
  // Only the current key is mounted: requests are never signed with the previous or next one.
  { name: "keys", secret: { secretName: SIGNING_KEY, defaultMode: 0o440, items: [{ key: "current.pem", path: "current.pem" }] } },
  { name: "scratch", emptyDir: { sizeLimit: "256Mi" } },
];
const volumesOf = (environment: EnvironmentResource, cell: Cell) => [
  ...volumes,
  ...trustVolumes(environment, cell),
  ...tunnelVolumes(environment),
];
const hashes = ({ config, secrets }: Omit<Inputs, "replicas">) => ({
  "perdure.dev/config-hash": config,
  "perdure.dev/secrets-hash": secrets,
});
