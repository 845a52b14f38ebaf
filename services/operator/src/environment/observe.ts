/** Derives the conditions of an environment from what controllers report about its objects. Pure, so that each case has a test. */
import type { EnvironmentPhase, EnvironmentResource, EnvironmentResourceStatus, Observation } from "@perdure/custom-resources";
import { PROGRESS_MS_MAX, WAIT_SOON_MS } from "../limits.js";
import type { Workload } from "../observed-objects.js";
import { bad, good, isGood, type StepOutcome } from "./outcome.js";

/** The fields of a StatefulSet or Deployment that describe its state. */
export type Rollout = Pick<Workload, "spec" | "status"> & { readonly metadata: Pick<Workload["metadata"], "generation"> };

const isObserved = ({ metadata, status }: Rollout): boolean => (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);

interface DesiredWorkers {
  /** Replicas that the environment requests, which a scale-in reaches step by step; undefined when an autoscaler decides. */
  readonly desired: number | undefined;
  /** Whether the set in the local copy has the current template: the state of another template is ignored. */
  readonly isCurrent: boolean;
  /** Whether the environment is suspended or hibernated, so that it should have no pods. */
  readonly isResting: boolean;
}

export function workersOutcome(set: Rollout | undefined, { desired, isCurrent, isResting }: DesiredWorkers): StepOutcome {
  const type = "WorkersReady";
  if (set === undefined || !isObserved(set)) return bad(type, "RollingOut", "the workers are being created");
  if (!isCurrent) return bad(type, "RollingOut", "the rollout of the new worker template is about to start");
  const requested = set.spec?.replicas ?? 0;
  const { replicas = 0, readyReplicas = 0, updatedReplicas = 0 } = set.status ?? {};
  const goal = desired ?? requested;
  if (goal === 0 && replicas === 0 && !isResting)
    return bad(type, "NoWorkers", "workers.replicas is 0, so no worker runs and calls wait; raise it, or set suspended");
  if (replicas > requested || requested > goal) {
    return bad(type, "Draining", `worker-${Math.max(replicas, requested) - 1} hands its partitions over`, WAIT_SOON_MS);
  }
  if (requested < goal) return bad(type, "RollingOut", `${goal - requested} more the workers are being created`);
  if (readyReplicas < requested) return bad(type, "RollingOut", `${readyReplicas} of ${requested} workers are ready`);
  if (updatedReplicas < requested)
    return bad(type, "RollingOut", `${updatedReplicas} of ${requested} workers have the new template`);
  return good(type, "Ready", `${readyReplicas} of ${requested} workers are ready`);
}

export function storageOutcome(environment: EnvironmentResource, set: Rollout | undefined): StepOutcome {
  const type = "StorageReady";
  if (environment.spec.redis.external !== undefined) return good(type, "External", "Redis is external");
  if (set === undefined || !isObserved(set)) return bad(type, "VolumePending", "Redis is being created");
  const requested = set.spec?.replicas ?? 0;
  const ready = set.status?.readyReplicas ?? 0;
  if (ready < requested) return bad(type, "VolumePending", `${ready} of ${requested} Redis pods are ready`);
  return good(type, "Ready");
}

export function routableOutcome(front: Rollout | undefined): StepOutcome {
  const type = "Routable";
  const requested = front?.spec?.replicas ?? 0;
  const ready = front?.status?.readyReplicas ?? 0;
  if (front !== undefined && isObserved(front) && requested > 0 && ready > 0) return good(type, "Ready");
  return bad(type, "GatewayLag", "no front pod is ready yet");
}

/** Conditions in order of evaluation: the first one that is not true is the reason of `Ready`. */
const NEEDED = ["Accepted", "NamespaceReady", "NetworkIsolated", "StorageReady", "WorkersReady", "Routable"];

/** `rest`: state of the hibernation. */
export function summary(
  environment: EnvironmentResource,
  outcomes: readonly StepOutcome[],
  rest?: "Closing" | "Asleep" | "Waking",
): readonly Observation[] {
  const observations = outcomes.map(({ observation }) => observation);
  const failing = new Set(outcomes.filter((one) => !isGood(one)).map(({ observation }) => observation));
  const needed = NEEDED.map((type) => observations.find((one) => one.type === type));
  const first = needed.find((one) => one === undefined || failing.has(one));
  const complete = NEEDED.every((type) => observations.some((one) => one.type === type));
  const ready: Observation =
    first === undefined && complete
      ? { type: "Ready", status: "True", reason: "Ready", message: "" }
      : {
          type: "Ready",
          status: "False",
          reason: first?.reason ?? "Pending",
          message: first?.message ?? "not every step has run yet",
        };
  const isResting = environment.spec.suspended || rest === "Closing";
  const isRestExpected = isResting && first?.type !== "Accepted" && first?.type !== "NamespaceReady";
  const restReason = rest === "Asleep" ? "Hibernated" : rest === "Closing" ? "Hibernating" : "Suspended";
  const suspended: Observation = { ...ready, status: "False", reason: restReason, message: RESTS[restReason] };
  const isReduced = environment.spec.redis.bundled?.fsync === "everysec";
  const permissive = permissiveReason(environment);
  const progressing: Observation =
    ready.status === "True" || isRestExpected
      ? { type: "Progressing", status: "False", reason: "Complete", message: "" }
      : { type: "Progressing", status: "True", reason: ready.reason, message: ready.message };
  return [
    ...observations,
    isRestExpected ? suspended : ready,
    progressing,
    ...(isReduced
      ? [abnormal("DurabilityReduced", "FsyncEverySecond", "a crash of Redis may lose the last second of acknowledged work")]
      : []),
    ...(permissive === undefined ? [] : [abnormal("NetworkPermissive", permissive, PERMISSIVE[permissive])]),
  ];
}

const PERMISSIVE = {
  PoliciesDisabled: "no network policy keeps pods of the environment and others apart",
  EgressOpen: "workers reach every address, also private ones",
} as const;

function permissiveReason({ spec: { network } }: EnvironmentResource): keyof typeof PERMISSIVE | undefined {
  if (network.disablePolicies) return "PoliciesDisabled";
  return network.egress.mode === "open" ? "EgressOpen" : undefined;
}

const RESTS = {
  Suspended: "nothing runs; all data is kept",
  Hibernating: "the environment is idle, so its front is stopped; it hibernates if no request arrived until then",
  Hibernated: "nothing runs until a request arrives or a timer is due; all data is kept",
} as const;

const abnormal = (type: string, reason: string, message: string): Observation => ({ type, status: "True", reason, message });

/** Marks a change that takes too long as stuck; the reconcile continues as before. */
export function withDeadline(
  now: readonly Observation[],
  before: EnvironmentResourceStatus["conditions"],
  generation: number,
  nowMs: number,
): readonly Observation[] {
  const progressing = before?.find(({ type }) => type === "Progressing");
  if (progressing === undefined || progressing.observedGeneration !== generation) return now;
  const isOverdue = progressing.status === "True" && nowMs - Date.parse(progressing.lastTransitionTime) > PROGRESS_MS_MAX;
  if (!isOverdue && progressing.reason !== "DeadlineExceeded") return now;
  return now.map((one) =>
    one.type === "Progressing" && one.status === "True"
      ? { ...one, status: "False", reason: "DeadlineExceeded", message: `for more than 15 min: ${one.reason}: ${one.message}` }
      : one,
  );
}

/** The phase is informational; no decision depends on it. */
export function phaseOf(
  environment: EnvironmentResource,
  now: readonly Observation[],
  before: EnvironmentResourceStatus | undefined,
): EnvironmentPhase {
  const of = (type: string): Observation | undefined => now.find((one) => one.type === type);
  if (environment.metadata.deletionTimestamp !== undefined) return "Deleting";
  const ready = of("Ready");
  if (ready?.status === "True") return "Running";
  if (ready?.reason === "Suspended" || ready?.reason === "Hibernated") return ready.reason;
  if (ready?.reason === "Hibernating") return "Running";
  if (of("WorkersReady")?.reason === "Draining") return "Draining";
  const wasReady = (before?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
  const current = before?.version?.current;
  if (of("Accepted")?.status !== "True") return current === undefined ? "Pending" : "Degraded";
  if (current === undefined) return "Provisioning";
  const isUpdating = current !== environment.spec.version || before?.phase === "Updating";
  if (isUpdating) return "Updating";
  return wasReady || before?.phase === "Degraded" ? "Degraded" : "Updating";
}
