/** Why: what people do now must not stand behind a crowd of new objects, nor behind looks for the sake of looking (work-queue.ts). */
import { keyOf, type MetadataOnly, type Priority } from "@perdure/driver-kubernetes";
import { hashOf } from "./desired/runtime-config.js";

interface Reconcilable extends MetadataOnly {
  readonly status?: { readonly observedGeneration?: number | undefined } | undefined;
}

/** Of an object as it is known when the operator begins to lead: nobody has reconciled it yet, or it may have changed meanwhile. */
export function priorityAtStart({ metadata, status }: Reconcilable): Priority {
  if (metadata.deletionTimestamp !== undefined) return "urgent";
  if (status?.observedGeneration === undefined) return "creation";
  return status.observedGeneration === metadata.generation ? "resync" : "urgent";
}

/** How urgent changes of the objects of one kind are. */
export class Urgency {
  /** What people say of an object, by its name; a status is not among it. */
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
    // What the operator writes itself: the finalizer, the status.
    if (change === "changed" && !isChanged) return "progress";
    const priority = priorityAtStart(object);
    return priority === "resync" ? "urgent" : priority;
  }
}
