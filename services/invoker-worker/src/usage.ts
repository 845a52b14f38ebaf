/**
 * Counts what still needs a deployment: it may be removed without force only when nothing does (specification, item 8), and the
 * partitions have that information.
 */
import type { DeploymentId } from "@perdure/base";
import type { DeploymentUsage } from "@perdure/metadata";
import type { AnyPartitionStore } from "@perdure/storage";

/** Reads every unfinished invocation of the partitions once. */
export async function countUnfinished(
  store: AnyPartitionStore,
  partitions: readonly number[],
  id: DeploymentId,
  services: readonly string[],
): Promise<DeploymentUsage> {
  const unfinishedByService = new Map<string, number>(services.map((service) => [service, 0]));
  let pinned = 0;
  for (const partition of partitions) {
    for await (const invocation of store.unfinished(partition, undefined)) {
      const { service } = invocation.facts.target;
      const count = unfinishedByService.get(service);
      if (count !== undefined) unfinishedByService.set(service, count + 1);
      if (invocation.pinned?.deploymentId === id) pinned++;
    }
  }
  return { pinned, unfinishedByService };
}
