/**
 * Why: a new kind of worker is tried on one pod first, the highest ordinal, and goes on to the next only when that one is ready; one that
 * does not become ready holds the rest back, which go on as they were. A StatefulSet does the replacing; how far it may go is said by its
 * `partition`, which walks down (kubernetes.md §2). Read from the cluster each time: nothing is remembered.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/driver-kubernetes";
import { TEMPLATE_HASH } from "../desired/workers.js";
import { WAIT_TROUBLE_MS } from "../limits.js";
import { bad, type Outcome } from "./outcome.js";
import type { PodTrouble, WorkerPod } from "./worker-pods.js";

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
  const asked = spec.replicas ?? 0;
  const before = spec.updateStrategy?.rollingUpdate?.partition ?? 0;
  // New for the cluster: nobody is replaced before it is known which pods are of it.
  if (metadata.annotations?.[TEMPLATE_HASH] !== templateHash) return asked;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return Math.min(before, asked);
  const isDone = status.updateRevision === status.currentRevision && (status.updatedReplicas ?? 0) >= (status.replicas ?? 0);
  if (isDone) return 0;
  return partitionOf(asked, status.updateRevision, await pods());
}

/** The highest ordinal that is not of the revision and ready. */
export function partitionOf(asked: number, revision: string | undefined, pods: readonly WorkerPod[]): number {
  for (let ordinal = asked - 1; ordinal > 0; ordinal--) {
    const pod = pods.find((one) => one.ordinal === ordinal);
    if (pod === undefined || pod.revision !== revision || !pod.isReady || pod.isEnding) return ordinal;
  }
  return 0;
}

/** Who does not run, and will not by itself. */
export function troubleOf(pods: readonly WorkerPod[]): (PodTrouble & { readonly ordinal: number }) | undefined {
  for (const { ordinal, isReady, trouble } of pods.toReversed())
    if (!isReady && trouble !== undefined) return { ordinal, ...trouble };
  return undefined;
}

/** What people are told of it; undefined: nothing is wrong. */
export function troubleOutcome(environment: EnvironmentResource, pods: readonly WorkerPod[], partition: number): Outcome | undefined {
  const trouble = troubleOf(pods);
  if (trouble === undefined) return undefined;
  const held = partition > 0 ? `; workers below ${partition} stay as they are until it runs` : "";
  const what = `worker-${trouble.ordinal} of ${environment.spec.version}: ${trouble.message}`;
  return bad("WorkersReady", trouble.reason, `${what}${held}`, WAIT_TROUBLE_MS);
}
