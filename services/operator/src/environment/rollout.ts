/**
 * Rolls a new template of workers out. It starts with one pod, the highest ordinal, and continues with the next only when that one is
 * ready; one that does not become ready stops the rollout, and the others keep their template. The StatefulSet replaces the pods; its
 * `partition`, which decreases, limits how far (kubernetes.md §2). The state is read from the cluster each time.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import { TEMPLATE_HASH } from "../desired/workers.js";
import { WAIT_PROBLEM_MS } from "../limits.js";
import type { Workload } from "../observed-objects.js";
import { bad, type StepOutcome } from "./outcome.js";
import type { PodProblem, WorkerPod } from "./worker-pods.js";

/** Pods with this ordinal and above get the new template. `pods` is called only during a rollout. */
export async function nextPartition(
  set: Workload | undefined,
  templateHash: string,
  pods: () => Promise<readonly WorkerPod[]>,
): Promise<number> {
  if (set === undefined) return 0;
  const { spec = {}, status = {}, metadata } = set;
  const replicas = spec.replicas ?? 0;
  const before = spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  // The template was just changed: no pod is replaced before it is known which pods have it.
  if (metadata.annotations?.[TEMPLATE_HASH] !== templateHash) return replicas;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return Math.min(before, replicas);
  const isDone = status.updateRevision === status.currentRevision && (status.updatedReplicas ?? 0) >= (status.replicas ?? 0);
  if (isDone) return 0;
  return partitionOf(replicas, status.updateRevision, await pods());
}

/** The highest ordinal that is not of the revision and ready. */
function partitionOf(replicas: number, revision: string | undefined, pods: readonly WorkerPod[]): number {
  for (let ordinal = replicas - 1; ordinal > 0; ordinal--) {
    const pod = pods.find((one) => one.ordinal === ordinal);
    if (pod === undefined || pod.revision !== revision || !pod.isReady || pod.isEnding) return ordinal;
  }
  return 0;
}

/** The first pod that does not run and needs an action. */
function firstProblemOf(pods: readonly WorkerPod[]): (PodProblem & { readonly ordinal: number }) | undefined {
  for (const { ordinal, isReady, problem } of pods.toReversed())
    if (!isReady && problem !== undefined) return { ordinal, ...problem };
  return undefined;
}

/** The outcome for users; undefined without a problem. */
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
