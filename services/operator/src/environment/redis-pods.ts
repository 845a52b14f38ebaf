/**
 * Explains why a pod of Redis is not ready, which a StatefulSet does not report. What waiting does not resolve is a condition: pods that
 * cannot start, and a pod whose node is gone. Kubernetes keeps that pod, because the node may still write to the volume, until an operator
 * confirms that the machine is off.
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubernetesClient, resources } from "@perdure/kubernetes";
import { selectorOf } from "../desired/labels.js";
import { NODE_LOST_MS, WAIT_PROBLEM_MS } from "../limits.js";
import { bad, type StepOutcome } from "./outcome.js";
import { type Pod, podProblemOf } from "./worker-pods.js";

/** Undefined when no problem was found. Rejects with the API server's error. */
export async function redisProblem(
  environment: EnvironmentResource,
  client: Pick<KubernetesClient, "list">,
  nowMs: number,
  signal: AbortSignal,
): Promise<StepOutcome | undefined> {
  const labels = Object.entries(selectorOf(environment, "redis"))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
  const namespace = objectNameOf(environment.spec.environmentId);
  const { items } = await client.list<Pod>(resources.pods, { namespace, labels, signal });
  for (const pod of items.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name))) {
    const { reason, message } = lostNode(pod, nowMs) ?? podProblemOf(pod.status ?? {}) ?? {};
    if (reason !== undefined) return bad("StorageReady", reason, `${pod.metadata.name}: ${message}`, WAIT_PROBLEM_MS);
  }
  return undefined;
}

/** `deletionTimestamp` is the end of the grace period; a kubelet that works confirms the end of a pod soon after it. */
function lostNode({ metadata, spec }: Pod, nowMs: number): { readonly reason: string; readonly message: string } | undefined {
  const { deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined || nowMs - Date.parse(deletionTimestamp) < NODE_LOST_MS) return undefined;
  const node = spec?.nodeName ?? "its node";
  const message =
    `it was to end before ${deletionTimestamp}, and ${node} does not confirm that; ` +
    `when that machine is off for certain: kubectl taint nodes ${spec?.nodeName ?? "<node>"} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`;
  return { reason: "NodeLost", message };
}
