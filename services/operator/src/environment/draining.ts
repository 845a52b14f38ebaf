/**
 * Why: a StatefulSet that becomes smaller ends its highest pod at once. Before that the worker in it is asked to give its partitions away,
 * so that each pauses for moments only; when it has none left, or has had its time, one replica less is asked for (kubernetes.md §2).
 * One ordinal after the other, each when the one before is gone; a worker that is wanted again is told so.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { WorkerClient, WorkerReport } from "../worker-client.js";
import type { WorkerPod } from "./worker-pods.js";

export interface Scaling {
  /** What the StatefulSet is asked for now. */
  readonly replicas: number;
  /** The worker that gives its partitions away. */
  readonly draining: Draining | undefined;
  /** It had its time, and goes with what it still has. */
  readonly isOverdue: boolean;
}

export interface Draining {
  readonly ordinal: number;
  /** RFC 3339. */
  readonly since: string;
  /** Undefined: it does not say. */
  readonly partitions: number | undefined;
}

interface ScalingFacts {
  readonly environment: EnvironmentResource;
  /** How many there should be in the end. */
  readonly desired: number;
  /** Of the StatefulSet's spec; undefined before there is one. */
  readonly requested: number | undefined;
  /** Of its status. */
  readonly present: number;
  readonly nowMs: number;
}

interface ScalingPorts {
  /** Asked only when there is something to decide. */
  readonly pods: () => Promise<readonly WorkerPod[]>;
  readonly workerClient: WorkerClient;
}

/** The next step towards `wanted`, taken as far as workers are concerned. Rejects as `pods` does. */
export async function nextScaling(
  facts: ScalingFacts,
  { pods, workerClient }: ScalingPorts,
  signal: AbortSignal,
): Promise<Scaling> {
  const { environment, desired, requested, present } = facts;
  const before = environment.status?.workers?.drainingOrdinal;
  const stable = (replicas: number): Scaling => ({ replicas, draining: undefined, isOverdue: false });
  if (requested === undefined || desired === 0) return stable(desired); // Nobody is there, or nobody is left to give anything to.
  if (desired >= requested) {
    // Only one that was asked to drain has to be told, and until it has heard.
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
  // Without an address nothing runs in it that could lead.
  if (pod?.address === undefined || pod.isEnding) return { ...stable(ordinal), draining: drainingOf(facts, ordinal, undefined) };
  const report = await workerClient.drain(pod.address, signal);
  const draining = drainingOf(facts, ordinal, report);
  if (report?.partitions === 0) return { replicas: ordinal, draining, isOverdue: false };
  const isOverdue = facts.nowMs - Date.parse(draining.since) >= environment.spec.workers.drainSeconds * 1000;
  return { replicas: isOverdue ? ordinal : requested, draining, isOverdue };
}

/** Since when: as it was noted, for the same worker. */
function drainingOf({ environment, nowMs }: ScalingFacts, ordinal: number, report: WorkerReport | undefined): Draining {
  const { drainingOrdinal, drainingSince } = environment.status?.workers ?? {};
  const isSame = drainingOrdinal === ordinal && drainingSince !== undefined;
  const since = isSame ? drainingSince : new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  return { ordinal, since, partitions: report?.partitions };
}
