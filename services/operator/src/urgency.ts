/** Priorities of changes: changes of users come before new objects and before periodic checks (work-queue.ts). */
import { keyOf, type MetadataOnly, type Priority } from "@perdure/kubernetes";
import { hashOf } from "./desired/runtime-config.js";

interface Reconcilable extends MetadataOnly {
  readonly status?: { readonly observedGeneration?: number | undefined } | undefined;
}

/** Priority of an object when the operator begins to lead: it was never reconciled, or may have changed meanwhile. */
export function priorityAtStart({ metadata, status }: Reconcilable): Priority {
  if (metadata.deletionTimestamp !== undefined) return "urgent";
  if (status?.observedGeneration === undefined) return "creation";
  return status.observedGeneration === metadata.generation ? "resync" : "urgent";
}

/** Priorities of changes of the objects of one kind. */
export class Urgency {
  /** Hash of what users set on an object, by its name; excludes the status. */
  readonly #hashes = new Map<string, string>();

  of(object: Reconcilable, change: "added" | "changed" | "deleted" | "resync"): Priority {
    const { name, namespace, generation, deletionTimestamp, labels, annotations } = object.metadata;
    const key = keyOf(name, namespace);
    if (change === "deleted") {
      this.#hashes.delete(key);
      return "urgent";
    }
    const hash = hashOf([generation, deletionTimestamp, labels ?? {}, annotations ?? {}]);
    const isChanged = this.#hashes.get(key) !== hash;
    this.#hashes.set(key, hash);
    if (change === "resync") return "resync";
    // Writes of the operator itself: the finalizer, the status.
    if (change === "changed" && !isChanged) return "progress";
    const priority = priorityAtStart(object);
    return priority === "resync" ? "urgent" : priority;
  }
}
