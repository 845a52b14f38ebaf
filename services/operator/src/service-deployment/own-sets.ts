/**
 * Why: what is known of a version is noted on its ReplicaSet, and the next pass reads it there. Right after we noted something our copy of
 * the cluster may not know it yet; a version that has just been registered would be taken for one that nobody ever called, and its pods
 * for needed by nobody. So what we wrote is looked at until our copy is as new.
 */
import type { KubeObject, ObjectCache } from "@perdure/driver-kubernetes";
import { CACHED_ANSWERS_MAX } from "../limits.js";

export class OwnSets {
  /** By uid, as each was after our last write; the oldest is forgotten first. */
  readonly #written = new Map<string, KubeObject>();

  note(set: KubeObject): void {
    const { uid } = set.metadata;
    if (uid === undefined) return;
    this.#written.delete(uid);
    this.#written.set(uid, set);
    if (this.#written.size > CACHED_ANSWERS_MAX) this.#written.delete(this.#written.keys().next().value as string);
  }

  /** All that our copy has, each at least as new as what we wrote. */
  over(copy: Pick<ObjectCache<KubeObject>, "values">): Pick<ObjectCache<KubeObject>, "values"> {
    return { values: () => Array.from(copy.values(), (set) => this.#newer(set)) };
  }

  #newer(set: KubeObject): KubeObject {
    const written = this.#written.get(set.metadata.uid ?? "");
    if (written === undefined) return set;
    if (versionOf(written) > versionOf(set)) return written;
    this.#written.delete(set.metadata.uid ?? "");
    return set;
  }
}

/** They rise within a kind (Kubernetes says so since 1.35, and did so before). */
const versionOf = ({ metadata }: KubeObject): bigint => BigInt(metadata.resourceVersion ?? "0");
