/**
 * Why: a status is read from our copy of the cluster and decides what happens next (who drains, who sleeps). Right after we wrote it the
 * copy may still be what it was before, and a decision would be taken twice; then what the API server answered to our write is used instead.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { MetadataOnly } from "@perdure/driver-kubernetes";

export class OwnWrites {
  /** Each environment as it was after our last write, until our copy is as new. Versions rise within a kind (Kubernetes says so since 1.35, and did so before). */
  readonly #written = new Map<string, EnvironmentResource>();

  note(written: MetadataOnly): void {
    if (written.metadata.resourceVersion !== undefined) this.#written.set(written.metadata.name, written as EnvironmentResource);
  }

  discard(name: string): void {
    this.#written.delete(name);
  }

  /** At least as new as what we wrote. */
  fresh(cached: EnvironmentResource): EnvironmentResource {
    const { name } = cached.metadata;
    const written = this.#written.get(name);
    // One that was made again under its name is another one, which we have not written yet.
    if (written !== undefined && written.metadata.uid === cached.metadata.uid && isNewer(written, cached)) return written;
    this.#written.delete(name);
    return cached;
  }
}

const isNewer = (one: MetadataOnly, other: MetadataOnly): boolean =>
  BigInt(one.metadata.resourceVersion ?? 0) > BigInt(other.metadata.resourceVersion ?? 0);
