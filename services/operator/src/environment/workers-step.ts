/**
 * Reconciles the number and template of workers in steps that depend on other workers: scale-in one by one, each when it has handed its
 * partitions over; a new template one by one, each when the one before is ready. With an autoscaler, that decides the number.
 */

import { type Clock, jsonFields } from "@perdure/base";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import type { EventRecorder, KubernetesClient } from "@perdure/kubernetes";
import { MANAGER, type ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import type { Cell } from "../cell.js";
import { desiredWorkers } from "../desired/sizes.js";
import { type Inputs, TEMPLATE_HASH, workers, workerTemplateHash } from "../desired/workers.js";
import { WAIT_DRAIN_MS, WAIT_UNREADY_MS } from "../limits.js";
import type { Workload } from "../observed-objects.js";
import type { WorkerClient } from "../worker-client.js";
import { type Draining, nextScaling } from "./draining.js";
import { workersOutcome } from "./observe.js";
import { isGood, type StepOutcome } from "./outcome.js";
import { nextPartition, problemOutcome } from "./rollout.js";
import type { StartChecks } from "./start-checks.js";
import { type WorkerPod, workerPods } from "./worker-pods.js";

interface WorkersPorts {
  readonly client: KubernetesClient;
  readonly applier: ObjectApplier;
  readonly caches: Caches;
  readonly cell: Cell;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly workerClient: WorkerClient;
  readonly startChecks: StartChecks;
}

interface WorkersResult {
  readonly outcome: StepOutcome;
  readonly draining: Draining | undefined;
}

/** `isAutoscaled`: an autoscaler sets the number. Rejects with the API server's error. */
export async function workersStep(
  environment: EnvironmentResource,
  inputs: Pick<Inputs, "config" | "secrets">,
  isAutoscaled: boolean,
  ports: WorkersPorts,
  signal: AbortSignal,
): Promise<WorkersResult> {
  const { applier, caches, cell, client, clock, workerClient, events, startChecks } = ports;
  const namespace = objectNameOf(environment.spec.environmentId);
  const set = caches.statefulSets.get("worker", namespace);
  let listed: Promise<readonly WorkerPod[]> | undefined;
  const pods = (): Promise<readonly WorkerPod[]> => {
    listed ??= workerPods(environment, client, signal);
    return listed;
  };
  const desired = isAutoscaled ? undefined : desiredWorkers(environment);
  if (desired === undefined && set !== undefined) await handReplicasOver(environment, set, client, signal);
  const facts = { environment, requested: set?.spec?.replicas, present: set?.status?.replicas ?? 0, nowMs: clock.nowMs() };
  const scaling = desired === undefined ? undefined : await nextScaling({ ...facts, desired }, { pods, workerClient }, signal);
  const templateHash = workerTemplateHash(environment, cell, inputs);
  const partition = await nextPartition(set, templateHash, pods);
  const replicas = scaling?.replicas;
  for (const object of workers(environment, cell, { ...inputs, replicas, partition })) await applier.apply(object, signal);
  if (scaling?.isOverdue === true) {
    const note = `worker-${scaling.draining?.ordinal} did not drain within ${environment.spec.workers.drainSeconds} s and is stopped with ${scaling.draining?.partitions ?? "an unknown number of"} partitions`;
    await events.record(environment, {
      type: "Warning",
      reason: "DrainTimedOut",
      action: "Scale",
      note,
    });
  }
  const isCurrent = set?.metadata.annotations?.[TEMPLATE_HASH] === templateHash;
  const progress = workersOutcome(set, { desired, isCurrent, isResting: environment.spec.suspended });
  // Without pods there is no failing pod.
  const isCheckDue = !isGood(progress) && (set?.status?.replicas ?? 0) > 0;
  const check = isCheckDue
    ? await startChecks.check(environment, async () => problemOutcome(environment, await pods(), partition))
    : undefined;
  const isDraining = scaling?.draining !== undefined;
  // Pods may fail later, and a StatefulSet does not report that.
  const outcome = check?.problem ?? (isGood(progress) ? progress : { againMs: check?.againMs ?? WAIT_UNREADY_MS, ...progress });
  return { outcome: isDraining ? { ...outcome, againMs: WAIT_DRAIN_MS } : outcome, draining: scaling?.draining };
}

/** Hands replicas over to the autoscaler: a field that its only owner drops falls back to its default, which here would be one worker. */
async function handReplicasOver(
  { spec }: EnvironmentResource,
  set: Workload,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<void> {
  if (!ownsReplicas(set)) return;
  const { apiVersion, kind } = set;
  const { min = 1, max = 1 } = spec.workers.autoscaling ?? {};
  const namespace = objectNameOf(spec.environmentId);
  // An autoscaler ignores a set with 0 replicas (hibernated), so the number is at least its minimum.
  const replicas = Math.min(max, Math.max(min, set.spec?.replicas ?? min));
  const kept = { apiVersion, kind, metadata: { name: "worker", namespace }, spec: { replicas } };
  await client.apply(kept, { manager: `${MANAGER}-scale`, force: true, signal });
}

function ownsReplicas({ metadata: { managedFields = [] } }: Workload): boolean {
  return managedFields.some((owner) => {
    const { manager, fieldsV1 } = jsonFields(owner) ?? {};
    return manager === MANAGER && jsonFields(jsonFields(fieldsV1)?.["f:spec"])?.["f:replicas"] !== undefined;
  });
}
