/**
 * Notes about retained data. A ConfigMap in the operator's namespace names the data that a deleted environment left; a new environment of
 * that id starts only with explicit consent. The operator's namespace is watched, so an environment without a note costs no request.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { KubeObject, ObjectCache } from "@perdure/kubernetes";

export interface RetainedNote extends KubeObject {
  readonly data?: { readonly uid?: string; readonly snapshotId?: string };
}

export const noteNameOf = ({ metadata }: Pick<EnvironmentResource, "metadata">): string => `retained-${metadata.name}`;

export class RetainedNotes {
  readonly #watched: Pick<ObjectCache, "get" | "onChange">;
  /** The operator's own. */
  readonly #namespace: string;
  /** Names of notes that this process wrote and its copy of the cluster has not shown yet. */
  readonly #written = new Set<string>();

  constructor(watched: Pick<ObjectCache, "get" | "onChange">, namespace: string) {
    this.#watched = watched;
    this.#namespace = namespace;
    watched.onChange(({ metadata }, change) => {
      // One that is deleted was there before the one that was written.
      if (change !== "deleted") this.#written.delete(metadata.name);
    });
  }

  /** Whether a note about an earlier environment of this id may exist; its content is read from the API server. */
  mayExist(environment: EnvironmentResource): boolean {
    const name = noteNameOf(environment);
    return this.#written.has(name) || this.#watched.get(name, this.#namespace) !== undefined;
  }

  /** Right before the write. */
  noteWritten(environment: EnvironmentResource): void {
    this.#written.add(noteNameOf(environment));
  }
}
