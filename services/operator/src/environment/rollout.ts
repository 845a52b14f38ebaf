/**
 * Why: a new kind of worker is tried on one pod first, the highest ordinal, and goes on to the next only when that one is ready; one that
 * does not become ready holds the rest back, which go on as they were. A StatefulSet does the replacing; how far it may go is said by its
 * `partition`, which walks down (kubernetes.md §2). Read from the cluster each time: nothing is remembered.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/driver-kubernetes";
import { TEMPLATE_HASH } from "../desired/workers.js";
import { WAIT_PROBLEM_MS } from "../limits.js";
import { bad, type StepOutcome } from "./outcome.js";
import type { PodProblem, WorkerPod } from "./worker-pods.js";

export interface RollingSet extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly updateStrategy?: { readonly rollingUpdate?: { readonly partition?: number } };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
  };
}

/** Pods with this ordinal and above are of the new kind. `pods` is asked only while something rolls. */
export async function nextPartition(
  set: RollingSet | undefined,
  templateHash: string,
  pods: () => Promise<readonly WorkerPod[]>,
): Promise<number> {
  if (set === undefined) return 0;
  const { spec = {}, status = {}, metadata } = set;
  const replicas = spec.replicas ?? 0;
  const before = spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  // New for the cluster: nobody is replaced before it is known which pods are of it.
  if (metadata.annotations?.[TEMPLATE_HASH] !== templateHash) return replicas;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return Math.min(before, replicas);
  const isDone = status.updateRevision === status.currentRevision && (status.updatedReplicas ?? 0) >= (status.replicas ?? 0);
  if (isDone) return 0;
  return partitionOf(replicas, status.updateRevision, await pods());
}

/** The highest ordinal that is not of the revision and ready. */
export function partitionOf(replicas: number, revision: string | undefined, pods: readonly WorkerPod[]): number {
  for (let ordinal = replicas - 1; ordinal > 0; ordinal--) {
    const pod = pods.find((one) => one.ordinal === ordinal);
    if (pod === undefined || pod.revision !== revision || !pod.isReady || pod.isEnding) return ordinal;
  }
  return 0;
}

/** Who does not run, and will not by itself. */
export function firstProblemOf(pods: readonly WorkerPod[]): (PodProblem & { readonly ordinal: number }) | undefined {
  for (const { ordinal, isReady, problem } of pods.toReversed())
    if (!isReady && problem !== undefined) return { ordinal, ...problem };
  return undefined;
}

/** What people are told of it; undefined: nothing is wrong. */
export function problemOutcome(
  environment: EnvironmentResource,
  pods: readonly WorkerPod[],
  partition: number,
): StepOutcome | undefined {
  const problem = firstProblemOf(pods);
  if (problem === undefined) return undefined;
  const held = partition > 0 ? `; workers below ${partition} stay as they are until it runs` : "";
  const what = `worker-${problem.ordinal} of ${environment.spec.version}: ${problem.message}`;
  return bad("WorkersReady", problem.reason, `${what}${held}`, WAIT_PROBLEM_MS);
}
