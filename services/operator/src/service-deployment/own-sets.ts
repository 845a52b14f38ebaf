/**
 * Keeps ReplicaSets as written until the local copy of the cluster is as new. The state of a version is stored on its ReplicaSet, and the
 * next pass reads it from the copy; right after a write the copy may lack it, and a version that was just registered would count as unused,
 * with pods to remove.
 */
import { BoundedCache } from "@perdure/base";
import type { KubeObject, ObjectCache } from "@perdure/kubernetes";
import { CACHED_ANSWERS_MAX } from "../limits.js";

export class OwnSets {
  /** Objects by uid, as returned by the operator's last write; the oldest is dropped first. */
  readonly #written = new BoundedCache<string, KubeObject>({ entriesMax: CACHED_ANSWERS_MAX });

  note(set: KubeObject): void {
    const { uid } = set.metadata;
    if (uid !== undefined) this.#written.set(uid, set);
  }

  /** All that our copy has, each at least as new as what we wrote. */
  over(copy: Pick<ObjectCache<KubeObject>, "values">): Pick<ObjectCache<KubeObject>, "values"> {
    return { values: () => Array.from(copy.values(), (set) => this.#newer(set)) };
  }

  #newer(set: KubeObject): KubeObject {
    const written = this.#written.peek(set.metadata.uid ?? "");
    if (written === undefined) return set;
    if (versionOf(written) > versionOf(set)) return written;
    this.#written.delete(set.metadata.uid ?? "");
    return set;
  }
}

/** Resource versions rise within a kind (documented since Kubernetes 1.35, and true before). */
const versionOf = ({ metadata }: KubeObject): bigint => BigInt(metadata.resourceVersion ?? "0");
