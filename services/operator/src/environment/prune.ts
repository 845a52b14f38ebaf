/** Deletes what an environment does not need any more: disruption budgets of a single pod, an autoscaler, a Redis that is external now. */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type KubernetesClient, type MetadataOnly, type Resource, resources } from "@perdure/kubernetes";
import type { ObjectApplier } from "../applier.js";
import type { Caches } from "../caches.js";
import { autoscaler } from "../desired/autoscaling.js";
import { disruptionBudgets } from "../desired/disruption.js";

export interface PrunePorts {
  readonly client: KubernetesClient;
  readonly caches: Pick<Caches, "of">;
  readonly applier: Pick<ObjectApplier, "discardObject">;
}

/** Deletes unwanted objects: only of these kinds, only with the operator's label, and only what this environment owns. */
export async function pruneUnwanted(environment: EnvironmentResource, ports: PrunePorts, signal: AbortSignal): Promise<void> {
  await prune(environment, resources.disruptionBudgets, disruptionBudgets(environment), ports, signal);
  await prune(environment, resources.autoscalers, autoscaler(environment), ports, signal);
}

/**
 * Deletes the objects of a kind that this environment owns in the local copy, except the wanted ones. Rejects with the API server's error.
 */
export async function prune(
  environment: EnvironmentResource,
  resource: Resource,
  desired: readonly MetadataOnly[],
  { client, caches, applier }: PrunePorts,
  signal: AbortSignal,
): Promise<void> {
  const namespace = objectNameOf(environment.spec.environmentId);
  const names = new Set(desired.map(({ metadata }) => metadata.name));
  for (const { metadata } of caches.of(resource)?.values() ?? []) {
    const isOwned = metadata.ownerReferences?.some(({ uid }) => uid === environment.metadata.uid) === true;
    if (metadata.namespace !== namespace || names.has(metadata.name) || !isOwned) continue;
    applier.discardObject(resource, metadata.name, namespace);
    await client.delete(
      resource,
      metadata.name,
      namespace,
      metadata.uid === undefined ? { signal } : { uid: metadata.uid, signal },
    );
  }
}
