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
/** Claim of the pod that writes. */
export const REDIS_CLAIM = "data-redis-0";
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

/** Names of its claims, the one of the primary first. */
export function redisClaims(environment: EnvironmentResource): readonly string[] {
  return Array.from({ length: redisPods(environment) }, (_, ordinal) => `data-redis-${ordinal}`);
}

/** Host by which runtimes reach Redis; the first pod is the primary. */
export function redisHost(namespace: string, { clusterDns }: Cell): string {
  return `redis-0.redis-headless.${namespace}.svc.${clusterDns}`;
}

/** Empty with an external one. `authHash`: of the password, so that a new one rolls the pods. */
export function bundledRedis(environment: EnvironmentResource, cell: Cell, authHash: string): KubeObject[] {
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
  return [service, statefulSet(environment, cell, authHash)];
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
    ...redisProbes,
    volumeMounts: [{ name: "data", mountPath: DATA_PATH }],
  };
}

/** Roles and addresses of the Redis pods. */
function peersOf(environment: EnvironmentResource, { clusterDns }: Cell) {
  const namespace = objectNameOf(environment.spec.environmentId);
  const hosts = Array.from({ length: REPLICATED_PODS }, (_, n) => `redis-${n}.redis-headless.${namespace}.svc.${clusterDns}`);
  return [
    { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
    { name: "REDIS_HOSTS", value: hosts.join(" ") },
    { name: "REDIS_PORT", value: String(PORTS.redis) },
    { name: "REDIS_DATA", value: DATA_PATH },
  ];
}
