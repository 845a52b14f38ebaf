/**
 * The generations of one partition that were deleted here and may still be in the archive; a look-up in the archive treats them as
 * absent. Each is noted in the store, see `DELETED_GENERATIONS`, so that the next leader knows it too.
 */
import type { Completed } from "@perdure/state-machine";
import { type ArchivedGeneration, deletionNoteName, parseDeletionNoteName, retainedUntilMs } from "@perdure/storage";

export class DeletedGenerations {
  readonly #byName = new Map<string, ArchivedGeneration>();
  /** Names of generations whose note is durable. */
  readonly #noted = new Set<string>();

  /** `names` are those of the notes of former leaders. */
  constructor(names: Iterable<string>) {
    for (const name of names) {
      this.#byName.set(name, parseDeletionNoteName(name));
      this.#noted.add(name);
    }
  }

  /** Returns the name under which the store must note the deletion. */
  add(invocation: Completed): string {
    const generation = { id: invocation.facts.id, retainedUntilMs: retainedUntilMs(invocation) };
    const name = deletionNoteName(generation.id, generation.retainedUntilMs);
    this.#byName.set(name, generation);
    return name;
  }

  /** The note is durable in the store: the generation is over after any crash. */
  noted(name: string): void {
    this.#noted.add(name);
  }

  has({ id, retainedUntilMs }: ArchivedGeneration): boolean {
    return this.#byName.has(deletionNoteName(id, retainedUntilMs));
  }

  /** Returns at most `limit` generations that the archive must delete. */
  toDelete(limit: number): readonly ArchivedGeneration[] {
    const generations: ArchivedGeneration[] = [];
    for (const [name, generation] of this.#byName) {
      if (this.#noted.has(name)) generations.push(generation);
      if (generations.length === limit) break;
    }
    return generations;
  }

  /** The archive has deleted the generation; returns the name of its note. */
  confirm({ id, retainedUntilMs }: ArchivedGeneration): string {
    const name = deletionNoteName(id, retainedUntilMs);
    this.#byName.delete(name);
    this.#noted.delete(name);
    return name;
  }
}
