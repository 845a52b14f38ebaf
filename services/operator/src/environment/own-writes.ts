/**
 * Why: a status is read from our copy of the cluster and decides what happens next (who drains, who sleeps). Right after we wrote it the
 * copy may still be what it was before, and a decision would be taken twice; then the API server is asked instead.
 */
import type { Environment } from "@perdure/custom-resources";
import { type KubernetesClient, type MetadataOnly, resources } from "@perdure/driver-kubernetes";

export class OwnWrites {
  /** What each environment was after our last write. Versions rise within a kind (Kubernetes says so since 1.35, and did so before). */
  readonly #versions = new Map<string, bigint>();

  note({ metadata }: MetadataOnly): void {
    if (metadata.resourceVersion !== undefined) this.#versions.set(metadata.name, BigInt(metadata.resourceVersion));
  }

  forget(name: string): void {
    this.#versions.delete(name);
  }

  /** At least as new as what we wrote; undefined when it is gone. Rejects as the API server says. */
  async fresh(cached: Environment, client: KubernetesClient, signal: AbortSignal): Promise<Environment | undefined> {
    const { name, resourceVersion = "0" } = cached.metadata;
    const written = this.#versions.get(name);
    if (written === undefined || BigInt(resourceVersion) >= written) return cached;
    return (await client.find(resources.environments, name, undefined, { signal })) as unknown as Environment | undefined;
  }
}
