/**
 * Keeps statuses as written until the local copy of the cluster is as new. The next decision (which worker drains, which environment
 * hibernates) reads the status; right after a write the copy may still have the old one, and a decision would be made twice. Then the API
 * server's response to the write is used.
 */
import { type EnvironmentResource, parseEnvironment } from "@perdure/custom-resources";
import type { MetadataOnly } from "@perdure/kubernetes";

export class OwnWrites {
  /**
   * Each environment as returned by our last write, until the local copy is as new. Resource versions rise within a kind (documented since
   * Kubernetes 1.35, and true before).
   */
  readonly #written = new Map<string, EnvironmentResource>();

  note(written: MetadataOnly): void {
    const environment = parseEnvironment(written);
    if (environment?.metadata.resourceVersion !== undefined) this.#written.set(written.metadata.name, environment);
  }

  discard(name: string): void {
    this.#written.delete(name);
  }

  /** Returns a version of the environment that is at least as new as the operator's last write. */
  fresh(cached: EnvironmentResource): EnvironmentResource {
    const { name } = cached.metadata;
    const written = this.#written.get(name);
    // An object that was created again under the same name was not written by us yet.
    if (written !== undefined && written.metadata.uid === cached.metadata.uid && isNewer(written, cached)) return written;
    this.#written.delete(name);
    return cached;
  }
}

const isNewer = (one: MetadataOnly, other: MetadataOnly): boolean =>
  BigInt(one.metadata.resourceVersion ?? 0) > BigInt(other.metadata.resourceVersion ?? 0);
