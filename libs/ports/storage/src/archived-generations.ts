/**
 * Hides generations of archived invocations that are over from readers outside the partition: those whose retention has ended, and
 * those that the leader deleted while the archive still has them.
 */
import type { InvocationId } from "@perdure/base";
import type { Archive, ArchivedRow, ArchiveFilter } from "./archive.js";

/**
 * Where a partition notes generations that it deleted and that may still be in the archive. The notes are state of a service name that
 * no deployment can have, so that every store supports them and a note is durable with the batch that deletes. State keys are
 * `<id>/<retainedUntilMs>`.
 */
export const DELETED_GENERATIONS = Object.freeze({ service: ":archive", key: "forgotten" });

export function deletionNoteName(id: InvocationId, retainedUntilMs: number): string {
  return `${id}/${retainedUntilMs}`;
}

export function parseDeletionNoteName(name: string): { readonly id: InvocationId; readonly retainedUntilMs: number } {
  const slash = name.indexOf("/");
  return { id: name.slice(0, slash) as InvocationId, retainedUntilMs: Number(name.slice(slash + 1)) };
}

/** Reads that both snapshots and stores have. */
interface DeletionNotes {
  stateOf(partition: number, service: string, key: string): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** Reads archived invocations that are not over. Every method rejects with STO0001 when store or archive fails. */
export class ArchivedGenerations {
  readonly #notes: DeletionNotes;
  readonly #archive: Archive;
  readonly #nowMs: () => number;

  /** `nowMs` returns the current time in milliseconds since 1970. */
  constructor(notes: DeletionNotes, archive: Archive, nowMs: () => number) {
    this.#notes = notes;
    this.#archive = archive;
    this.#nowMs = nowMs;
  }

  /** Returns the stored rows of these ids in one partition; missing ids are left out. */
  async find(partition: number, ids: readonly InvocationId[]): Promise<ReadonlyMap<InvocationId, Uint8Array>> {
    const result = new Map<InvocationId, Uint8Array>();
    if (ids.length === 0) return result;
    const isAlive = await this.#aliveIn(partition);
    for (const row of await this.#archive.find(ids)) if (isAlive(row)) result.set(row.id, row.row);
    return result;
  }

  async *scan(partition: number, filter: Omit<ArchiveFilter, "partition">): AsyncIterable<readonly ArchivedRow[]> {
    const isAlive = await this.#aliveIn(partition);
    for await (const page of this.#archive.scan({ ...filter, partition })) {
      const alive = page.filter(isAlive);
      if (alive.length > 0) yield alive;
    }
  }

  /** Call it before the archive is read: the note of a deletion goes once the archive has deleted the generation. */
  async #aliveIn(partition: number): Promise<(row: ArchivedRow) => boolean> {
    const gone = await this.#notes.stateOf(partition, DELETED_GENERATIONS.service, DELETED_GENERATIONS.key);
    const nowMs = this.#nowMs();
    return ({ id, retainedUntilMs, expires }) =>
      !gone.has(deletionNoteName(id, retainedUntilMs)) && (!expires || retainedUntilMs > nowMs);
  }
}
