/**
 * Autoscaling where it is available. KEDA is an optional part of a cluster: where it is absent or switched off, its API gets no requests,
 * and the number of workers comes from the spec as without autoscaling (kubernetes.md D9).
 */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubeObject, type KubernetesClient, resources } from "@perdure/kubernetes";
import type { Cell } from "../cell.js";
import { autoscaler, isAutoscaled, scaledObject } from "../desired/autoscaling.js";
import type { PrunePorts } from "./prune.js";

export interface Scaler {
  /** Whether an autoscaler sets the number of workers. */
  readonly isThere: boolean;
  readonly objects: readonly KubeObject[];
  /** Why there is no autoscaler although the spec requests one. */
  readonly hindrance: string | undefined;
  /** Whether requests to KEDA's API are allowed. */
  readonly hasKeda: boolean;
}

interface ScalerPorts {
  readonly client: KubernetesClient;
  readonly cell: Pick<Cell, "keda" | "prometheusAddress">;
}

/** Rejects with the API server's error. */
export async function scalerOf(
  environment: EnvironmentResource,
  { client, cell }: ScalerPorts,
  signal: AbortSignal,
): Promise<Scaler> {
  const engine = environment.spec.workers.autoscaling?.engine;
  const wasKeda = environment.status?.workers?.autoscaler === "keda";
  if (engine !== "keda" && !wasKeda) {
    return { isThere: isAutoscaled(environment), objects: autoscaler(environment), hindrance: undefined, hasKeda: false };
  }
  const hasKeda = cell.keda === "on" || (cell.keda === "auto" && (await client.serves(resources.scaledObjects, { signal })));
  if (engine !== "keda")
    return { isThere: isAutoscaled(environment), objects: autoscaler(environment), hindrance: undefined, hasKeda };
  const { prometheusAddress } = cell;
  if (!hasKeda || prometheusAddress === undefined) {
    const hindrance = hasKeda
      ? "no address of Prometheus is set for it"
      : `KEDA is ${cell.keda === "off" ? "switched off" : "not installed"}`;
    return { isThere: false, objects: [], hindrance, hasKeda };
  }
  const isThere = isAutoscaled(environment);
  return { isThere, objects: scaledObject(environment, prometheusAddress), hindrance: undefined, hasKeda };
}

/** Removes the objects for KEDA when it must not scale any more; its own autoscaler is deleted with them. */
export async function pruneScaledObject(
  environment: EnvironmentResource,
  { hasKeda, objects }: Scaler,
  { client, applier }: Pick<PrunePorts, "client" | "applier">,
  signal: AbortSignal,
): Promise<void> {
  if (!hasKeda || objects.some(({ kind }) => kind === resources.scaledObjects.kind)) return;
  const namespace = objectNameOf(environment.spec.environmentId);
  const existing = await client.find(resources.scaledObjects, "worker", namespace, { signal });
  const isOwned = existing?.metadata.ownerReferences?.some(({ uid }) => uid === environment.metadata.uid) === true;
  if (existing?.metadata.uid === undefined || !isOwned) return;
  applier.discardObject(resources.scaledObjects, "worker", namespace);
  await client.delete(resources.scaledObjects, "worker", namespace, { uid: existing.metadata.uid, signal });
}
