/** The fields of worker pods that decisions need: ordinal, address, revision, and the reason why one does not run. */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, resources } from "@perdure/kubernetes";
import { selectorOf } from "../desired/labels.js";

export interface WorkerPod {
  readonly ordinal: number;
  /** Undefined before it has one. */
  readonly address: string | undefined;
  readonly isReady: boolean;
  readonly isEnding: boolean;
  /** Revision of the template that the pod was created from. */
  readonly revision: string | undefined;
  readonly problem: PodProblem | undefined;
}

/** A problem that waiting alone does not resolve. */
export interface PodProblem {
  readonly reason: "CrashLoop" | "ImagePull" | "Unschedulable";
  readonly message: string;
}

export interface Pod extends KubeObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly podIP?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly containerStatuses?: readonly {
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } };
    }[];
  };
}

/** Returns the pods by ordinal, lowest first. Rejects with the API server's error. */
export async function workerPods(
  environment: EnvironmentResource,
  client: KubernetesClient,
  signal: AbortSignal,
): Promise<readonly WorkerPod[]> {
  const labels = Object.entries(selectorOf(environment, "worker"))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
  const namespace = objectNameOf(environment.spec.environmentId);
  const { items } = await client.list<Pod>(resources.pods, { namespace, labels, signal });
  return items
    .map(workerPodOf)
    .filter((pod) => pod !== undefined)
    .sort((a, b) => a.ordinal - b.ordinal);
}

/** Undefined for a pod that is not a member of the StatefulSet. */
function workerPodOf({ metadata, status = {} }: Pod): WorkerPod | undefined {
  const ordinal = /^worker-(\d+)$/.exec(metadata.name)?.[1];
  if (ordinal === undefined) return undefined;
  return {
    ordinal: Number(ordinal),
    address: status.podIP,
    isReady: status.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true,
    isEnding: metadata.deletionTimestamp !== undefined,
    revision: metadata.labels?.["controller-revision-hash"],
    problem: podProblemOf(status),
  };
}

const PULLING: ReadonlySet<string> = new Set(["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"]);
const CRASHING: ReadonlySet<string> = new Set([
  "CrashLoopBackOff",
  "CreateContainerConfigError",
  "RunContainerError",
  "CreateContainerError",
]);

/** The reason why a pod does not run, from its status. */
export function podProblemOf({ conditions = [], containerStatuses = [] }: NonNullable<Pod["status"]>): PodProblem | undefined {
  for (const { state } of containerStatuses) {
    const { reason = "", message = "" } = state?.waiting ?? {};
    if (PULLING.has(reason)) return { reason: "ImagePull", message: `${reason} ${message}`.trim() };
    if (CRASHING.has(reason)) return { reason: "CrashLoop", message: `${reason} ${message}`.trim() };
  }
  const scheduled = conditions.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False" && scheduled.reason === "Unschedulable")
    return { reason: "Unschedulable", message: scheduled.message ?? "no node takes it" };
  return undefined;
}
