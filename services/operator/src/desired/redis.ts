/**
 * Redis of an environment, which holds its journals. Each environment has its own, so that no other can fill it. It never evicts data, it
 * writes before it acknowledges, and its volumes are deleted only on an explicit request (kubernetes.md §2).
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import type { Cell } from "../cell.js";
import { REDIS_GRACE_S } from "../limits.js";
import { childOf, labelsOf, podLabelsOf, selectorOf } from "./labels.js";
import { PORTS } from "./network-policies.js";
import { containerSecurity, placementOf, podDefaults, pulled } from "./pods.js";
import { redisMemory } from "./redis-memory.js";
import { redisProbes } from "./redis-probes.js";
import { START_REPLICATED } from "./redis-start.js";

export const REDIS_AUTH = "redis-auth";
/** Claim of the pod that writes in a new environment. */
export const REDIS_CLAIM = "data-redis-0";
/** Service that leads to the primary of three, and ConfigMap with the name of that pod once the operator has promoted one. */
export const REDIS_PRIMARY = "redis-primary";
/** Key of that ConfigMap. */
export const PRIMARY_KEY = "primary";
const REPLICATED_PODS = 3;
const DATA_PATH = "/data";
/** A journal takes a block of this size when it begins; with Redis's default of 4,096 most would take four times of what they need. */
const STREAM_NODE_BYTES_MAX = "512";
/** A primary without any connected replica accepts no writes, because no copy of them would exist. */
const REPLICATED_SETTINGS = {
  "min-replicas-to-write": "1",
  "min-replicas-max-lag": "10",
  "repl-diskless-sync-delay": "0", // Replication starts without a delay, since nothing is written before a replica is connected.
};

/** Number of volumes, also while it is scaled to zero. */
export function redisPods({ spec }: EnvironmentResource): number {
  if (spec.redis.bundled === undefined) return 0;
  return spec.redis.bundled.mode === "replicated" ? REPLICATED_PODS : 1;
}

/** Names of its claims, in the order of its pods. */
export function redisClaims(environment: EnvironmentResource): readonly string[] {
  return Array.from({ length: redisPods(environment) }, (_, ordinal) => `data-redis-${ordinal}`);
}

/** Host of the first pod: by it runtimes reach a Redis that is alone. */
export function redisHost(namespace: string, { clusterDns }: Cell): string {
  return `redis-0.redis-headless.${namespace}.svc.${clusterDns}`;
}

/** Host by which runtimes reach the primary of three. */
export const redisPrimaryHost = (namespace: string, { clusterDns }: Cell): string =>
  `${REDIS_PRIMARY}.${namespace}.svc.${clusterDns}`;

/** Hosts of the three, in the order of their pods. */
export function replicatedHosts({ spec }: EnvironmentResource, { clusterDns }: Cell): readonly string[] {
  const namespace = objectNameOf(spec.environmentId);
  return Array.from({ length: REPLICATED_PODS }, (_, n) => `redis-${n}.redis-headless.${namespace}.svc.${clusterDns}`);
}

/** The claim of the pod that writes. */
export const primaryClaimOf = ({ status }: EnvironmentResource): string => `data-${status?.data?.redisPrimary?.pod ?? "redis-0"}`;

/** Empty with an external one. `authHash`: of the password, so that a new one rolls the pods. `primary`: the pod that writes. */
export function bundledRedis(environment: EnvironmentResource, cell: Cell, authHash: string, primary = "redis-0"): KubeObject[] {
  const { bundled } = environment.spec.redis;
  if (bundled === undefined) return [];
  const service = childOf(
    environment,
    { ...resources.services, name: "redis-headless", component: "redis" },
    {
      spec: {
        clusterIP: "None",
        publishNotReadyAddresses: true,
        selector: selectorOf(environment, "redis"),
        ports: [{ name: "redis", port: PORTS.redis, protocol: "TCP", targetPort: "redis" }],
      },
    },
  );
  const more = isReplicated(environment) ? [primaryService(environment, primary)] : [];
  return [service, statefulSet(environment, cell, authHash), ...more];
}

/** Leads to one pod of the three, also before it is ready: what it may accept is decided by Redis. */
function primaryService(environment: EnvironmentResource, primary: string): KubeObject {
  return childOf(
    environment,
    { ...resources.services, name: REDIS_PRIMARY, component: "redis" },
    {
      spec: {
        publishNotReadyAddresses: true,
        selector: { ...selectorOf(environment, "redis"), "statefulset.kubernetes.io/pod-name": primary },
        ports: [{ name: "redis", port: PORTS.redis, protocol: "TCP", targetPort: "redis" }],
      },
    },
  );
}

function statefulSet(environment: EnvironmentResource, cell: Cell, authHash: string): KubeObject {
  const selector = { matchLabels: selectorOf(environment, "redis") };
  const claim = { metadata: { name: "data", labels: labelsOf(environment, "redis") }, spec: claimSpecOf(environment) };
  const template = {
    metadata: { labels: podLabelsOf(environment, "redis"), annotations: { "perdure.dev/auth-hash": authHash } },
    spec: {
      ...podDefaults(cell, "redis"),
      ...placement(environment),
      terminationGracePeriodSeconds: REDIS_GRACE_S,
      containers: [container(environment, cell)],
    },
  };
  return childOf(
    environment,
    { ...resources.statefulSets, name: "redis", component: "redis" },
    {
      spec: {
        serviceName: "redis-headless",
        // With an empty volume the first pod waits for the state of the others, so all start at once.
        podManagementPolicy: "Parallel",
        replicas: environment.spec.suspended ? 0 : redisPods(environment),
        selector,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
        template,
        volumeClaimTemplates: [claim],
      },
    },
  );
}

/** Spec of the volume claim; also for a claim that is restored from a snapshot. */
export function claimSpecOf({ spec }: EnvironmentResource): Readonly<Record<string, unknown>> {
  const { size, storageClassName } = spec.redis.bundled ?? {};
  return {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: size } },
    ...(storageClassName === undefined ? {} : { storageClassName }),
  };
}

export const isReplicated = ({ spec }: EnvironmentResource): boolean => spec.redis.bundled?.mode === "replicated";

/** Copies in one zone are lost with it: rather none than that. */
function placement(environment: EnvironmentResource): Readonly<Record<string, unknown>> {
  const placed = placementOf(environment, "redis");
  const spread = placed["topologySpreadConstraints"] as readonly Readonly<Record<string, unknown>>[] | undefined;
  if (!isReplicated(environment) || spread === undefined) return placed;
  return { ...placed, topologySpreadConstraints: spread.map((one) => ({ ...one, whenUnsatisfiable: "DoNotSchedule" })) };
}

function container(environment: EnvironmentResource, cell: Cell): Readonly<Record<string, unknown>> {
  const { bundled } = environment.spec.redis;
  const { requests, limits, dataBytes } = redisMemory(environment);
  const settings = {
    appendonly: "yes",
    appendfsync: bundled?.fsync ?? "always",
    save: "",
    maxmemory: String(dataBytes),
    "maxmemory-policy": "noeviction",
    "stream-node-max-bytes": STREAM_NODE_BYTES_MAX,
    requirepass: "$(REDIS_PASSWORD)",
    masterauth: "$(REDIS_PASSWORD)",
    dir: DATA_PATH,
    ...(isReplicated(environment) ? REPLICATED_SETTINGS : {}),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const password = { name: "REDIS_PASSWORD", valueFrom: { secretKeyRef: { name: REDIS_AUTH, key: "password" } } };
  return {
    name: "redis",
    ...pulled(cell, cell.redisImage),
    command: isReplicated(environment) ? ["sh", "-c", START_REPLICATED, "redis"] : ["redis-server"],
    args,
    env: [password, ...(isReplicated(environment) ? peersOf(environment, cell) : [])],
    ports: [{ name: "redis", containerPort: PORTS.redis, protocol: "TCP" }],
    resources: { requests, limits },
    securityContext: containerSecurity,
    ...redisProbes(isReplicated(environment)),
    volumeMounts: [{ name: "data", mountPath: DATA_PATH }],
  };
}

/** Roles and addresses of the Redis pods. */
function peersOf(environment: EnvironmentResource, cell: Cell) {
  return [
    { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
    // Read at each start of the container. The ConfigMap does not exist before the first promotion.
    { name: "REDIS_PRIMARY", valueFrom: { configMapKeyRef: { name: REDIS_PRIMARY, key: PRIMARY_KEY, optional: true } } },
    { name: "REDIS_HOSTS", value: replicatedHosts(environment, cell).join(" ") },
    { name: "REDIS_PORT", value: String(PORTS.redis) },
    { name: "REDIS_DATA", value: DATA_PATH },
  ];
}
