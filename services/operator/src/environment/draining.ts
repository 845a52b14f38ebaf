/**
 * Scales workers in. A StatefulSet that becomes smaller ends its highest pod at once, so the worker in that pod first hands its partitions
 * over, each of which pauses only briefly. When it leads none, or its time is up, the StatefulSet is scaled by one (kubernetes.md §2). One
 * ordinal after the other, each when the pod before is gone; draining is cancelled on a worker that is needed again.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { WorkerClient, WorkerReport } from "../worker-client.js";
import type { WorkerPod } from "./worker-pods.js";

interface Scaling {
  /** Replicas to set on the StatefulSet now. */
  readonly replicas: number;
  /** The worker that gives its partitions away. */
  readonly draining: Draining | undefined;
  /** The drain time is over, and the worker is removed with the partitions that it still leads. */
  readonly isOverdue: boolean;
}

export interface Draining {
  readonly ordinal: number;
  /** RFC 3339. */
  readonly since: string;
  /** Undefined: the worker does not report it. */
  readonly partitions: number | undefined;
}

interface ScalingFacts {
  readonly environment: EnvironmentResource;
  /** Final number of workers. */
  readonly desired: number;
  /** Replicas in the spec of the StatefulSet; undefined before it exists. */
  readonly requested: number | undefined;
  /** Replicas in its status. */
  readonly present: number;
  readonly nowMs: number;
}

interface ScalingPorts {
  /** Called only when a decision depends on the pods. */
  readonly pods: () => Promise<readonly WorkerPod[]>;
  readonly workerClient: WorkerClient;
}

/** The next step towards `wanted`; drain requests to workers are already sent. Rejects as `pods` does. */
export async function nextScaling(
  facts: ScalingFacts,
  { pods, workerClient }: ScalingPorts,
  signal: AbortSignal,
): Promise<Scaling> {
  const { environment, desired, requested, present } = facts;
  const before = environment.status?.workers?.drainingOrdinal;
  const stable = (replicas: number): Scaling => ({ replicas, draining: undefined, isOverdue: false });
  if (requested === undefined || desired === 0) return stable(desired); // No pods, or no worker left to hand partitions to.
  if (desired >= requested) {
    // Only a worker with a drain request needs the cancellation, until it has received it.
    const kept = before === undefined || before >= desired ? undefined : (await pods()).find(({ ordinal }) => ordinal === before);
    if (kept?.address !== undefined && !kept.isEnding) {
      const report = await workerClient.stay(kept.address, signal);
      if (report === undefined || report.draining)
        return { ...stable(desired), draining: drainingOf(facts, kept.ordinal, report) };
    }
    return stable(desired);
  }
  if (present > requested) return { ...stable(requested), draining: drainingOf(facts, requested, undefined) };
  const ordinal = requested - 1;
  const pod = (await pods()).find((one) => one.ordinal === ordinal);
  // A pod without an address runs no process that could lead.
  if (pod?.address === undefined || pod.isEnding) return { ...stable(ordinal), draining: drainingOf(facts, ordinal, undefined) };
  const report = await workerClient.drain(pod.address, signal);
  const draining = drainingOf(facts, ordinal, report);
  if (report?.partitions === 0) return { replicas: ordinal, draining, isOverdue: false };
  const isOverdue = facts.nowMs - Date.parse(draining.since) >= environment.spec.workers.drainSeconds * 1000;
  return { replicas: isOverdue ? ordinal : requested, draining, isOverdue };
}

/** Returns the draining of a worker, with the start time that was noted for the same worker. */
function drainingOf({ environment, nowMs }: ScalingFacts, ordinal: number, report: WorkerReport | undefined): Draining {
  const { drainingOrdinal, drainingSince } = environment.status?.workers ?? {};
  const isSame = drainingOrdinal === ordinal && drainingSince !== undefined;
  const since = isSame ? drainingSince : new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  return { ordinal, since, partitions: report?.partitions };
}
