/**
 * Reconciles the storage of journals in order: a volume that is restored from a snapshot, one that grows, Redis itself or an external
 * Redis, and backups, which delay nothing else.
 */
import { type EnvironmentResource, type Observation, objectNameOf } from "@perdure/custom-resources";
import { bundledRedis } from "../desired/redis.js";
import type { FailoverResult } from "../redis-failover/failover.js";
import { podOf } from "../redis-failover/record.js";
import { type BackupResult, keepBackups } from "./backup.js";
import { storageOutcome } from "./observe.js";
import { isGood, type StepOutcome } from "./outcome.js";
import type { EnvironmentReconcilePorts } from "./ports.js";
import { redisProblem } from "./redis-pods.js";
import { restoreVolume } from "./restore.js";
import type { EnvironmentSecrets } from "./secrets.js";
import { isFilling } from "./volume-poller.js";
import { growVolumes } from "./volumes.js";
import { workerPods } from "./worker-pods.js";

/** Results of the data step besides its condition. */
export interface DataResult {
  /** Conditions that there are only when something is not as it should be. */
  readonly problems: readonly Observation[];
  readonly backup: BackupResult | undefined;
  /** Which of three Redis writes; undefined when there are not three. */
  readonly failover?: FailoverResult | undefined;
  /** Bytes used of the volume; undefined when they were not read. */
  readonly usedBytes: number | undefined;
}

interface DataStep extends DataResult {
  readonly storage: StepOutcome;
}

/** `environment`: the effective one, in which hibernated counts as suspended. Rejects with the API server's error. */
export async function dataStep(
  environment: EnvironmentResource,
  secrets: EnvironmentSecrets,
  ports: EnvironmentReconcilePorts,
  signal: AbortSignal,
): Promise<DataStep> {
  if (environment.spec.redis.external !== undefined) {
    const { storage, durability } = await ports.redisChecks.check(environment.metadata.name, secrets.redisUrl);
    return withBackup(environment, storage, durability === undefined ? [] : [durability], ports, signal);
  }
  const set = ports.caches.statefulSets.get("redis", objectNameOf(environment.spec.environmentId));
  const failover = await ports.redisFailover.run(environment, set, secrets.redisUrl, signal);
  const primary = failover === undefined ? undefined : podOf(failover.record);
  const storage = await bundled(environment, { secrets, primary }, ports, signal);
  const problems = failover?.problems ?? [];
  const result = await withBackup(environment, withCheck(storage, failover?.againMs), problems, ports, signal);
  return { ...result, failover };
}

/** Reconciles again after that time at the latest. */
function withCheck(storage: StepOutcome, againMs: number | undefined): StepOutcome {
  return againMs === undefined ? storage : { ...storage, againMs: Math.min(againMs, storage.againMs ?? againMs) };
}

async function bundled(
  environment: EnvironmentResource,
  { secrets, primary }: { readonly secrets: EnvironmentSecrets; readonly primary: string | undefined },
  { applier, caches, client, cell, clock, redisStartChecks }: EnvironmentReconcilePorts,
  signal: AbortSignal,
): Promise<StepOutcome> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const set = caches.statefulSets.get("redis", namespace);
  const restoring = set === undefined ? await restoreVolume(environment, { client, cell }, signal) : undefined;
  const waiting = restoring ?? (await growVolumes(environment, set, { client, applier }, signal));
  if (waiting !== undefined) return waiting;
  // When everything stops, Redis ends after the last worker.
  const workersLeft = caches.statefulSets.get("worker", namespace)?.status?.replicas ?? 0;
  const isNeeded = environment.spec.suspended && workersLeft > 0;
  const forRedis = isNeeded ? { ...environment, spec: { ...environment.spec, suspended: false } } : environment;
  for (const object of bundledRedis(forRedis, cell, secrets.redisHash, primary)) await applier.apply(object, signal);
  const outcome = storageOutcome(environment, set);
  // Without pods there is no failing pod.
  if (isGood(outcome) || (set?.status?.replicas ?? 0) === 0) return outcome;
  const find = () => redisProblem(environment, client, clock.nowMs(), signal);
  const { problem, againMs } = await redisStartChecks.check(environment, find);
  // Pods may fail later, and a StatefulSet does not report that.
  return problem ?? { againMs, ...outcome };
}

const FILLING: Observation = {
  type: "VolumeFull",
  status: "True",
  reason: "AlmostFull",
  message: "the volume of journals is used to four fifths and more; redis.bundled.size can be raised while everything runs",
};

async function withBackup(
  environment: EnvironmentResource,
  storage: StepOutcome,
  problems: readonly Observation[],
  { client, cell, clock, metrics, volumePoller }: EnvironmentReconcilePorts,
  signal: AbortSignal,
): Promise<DataStep> {
  const usedBytes = await volumePoller.poll(environment, () => workerPods(environment, client, signal), signal);
  const lastUsedBytes = usedBytes ?? environment.status?.data?.usedBytes;
  const filling = isFilling(environment, lastUsedBytes) ? [FILLING] : [];
  metrics.volumes.record(environment.metadata.name, filling.length > 0);
  const backup = await keepBackups(environment, { client, cell }, clock.nowMs(), signal);
  metrics.snapshots.record(environment.metadata.name, backup.lastSnapshotMs, backup.isStale);
  const againMs = Math.min(storage.againMs ?? Number.POSITIVE_INFINITY, backup.againMs ?? Number.POSITIVE_INFINITY);
  return {
    storage: Number.isFinite(againMs) ? { ...storage, againMs } : storage,
    problems: [...problems, ...filling, ...(backup.problem === undefined ? [] : [backup.problem])],
    backup,
    usedBytes,
  };
}
