/**
 * Large payloads. A script that copies megabytes would delay every partition on its Redis, so a payload above a bound is written
 * beforehand, in chunks under keys of their own that expire; the commit that stores the row makes the chunks permanent, and the commit that
 * replaces or deletes the row deletes them. The hash `big` lists the rows with chunks; a leader reads it when it claims, and so needs no
 * request to find out whether a row has chunks. Chunks without a commit expire.
 *
 * A stored value is a tag and its content: 0 and the payload; or 1 and `<set> <bytes>`, with the payload in the chunks `big:<set>:0` … The
 * name of a set is never used again: `<epoch>.<number>`.
 */
import { copyBytes, PerdureError, parseJson, present } from "@perdure/base";
import { CHUNK_BYTES } from "./limits.js";

export const INLINE = 0;
export const CHUNKED = 1;

/** A payload to be written before the commit that stores its row. */
export interface StagedPayload {
  readonly set: string;
  readonly payload: Uint8Array;
}

export interface ChunkSet {
  readonly set: string;
  readonly chunks: number;
}

/** The row a chunk set belongs to: the suffix of its key, and its field or index there. */
interface Owner extends ChunkSet {
  readonly group: string;
  readonly field: string;
}

/** Text behind the tag of a row whose payload is in chunks. */
export function chunkReference({ set, payload }: StagedPayload): string {
  return `${set} ${payload.length}`;
}

/** A stored value: its payload in memory of its own, or the chunks that hold it. Throws STO0003 when it is neither. */
export function storedPayload(stored: Buffer): Uint8Array | ChunkSet {
  if (stored[0] === INLINE) return copyBytes(stored, 1);
  const reference = stored[0] === CHUNKED ? CHUNK_REFERENCE.exec(stored.toString("latin1", 1)) : null;
  const [, set, bytes] = reference ?? [];
  if (set === undefined || bytes === undefined)
    throw new PerdureError("STO0003", "a stored value is neither inline nor a reference to chunks");
  return { set, chunks: chunkCount(Number(bytes)) };
}

const CHUNK_REFERENCE = /^(\S+) (\d{1,15})$/;

export function chunkCount(bytes: number): number {
  return Math.ceil(bytes / CHUNK_BYTES);
}

export function chunkKey(set: string, n: number): string {
  return `big:${set}:${n}`;
}

export function chunkKeys({ set, chunks }: ChunkSet): string[] {
  return Array.from({ length: chunks }, (_, n) => chunkKey(set, n));
}

/** The chunk sets of one partition, as its leader tracks them, with those of the batch under way. */
export class ChunkSets {
  readonly #epoch: number;
  #next = 0;
  readonly #groups = new Map<string, Map<string, ChunkSet>>();

  /** `listed` is the hash `big` as fields and values in turn. Throws STO0003 when a line cannot be read: its chunks would never be deleted. */
  constructor(epoch: number, listed: readonly Buffer[]) {
    this.#epoch = epoch;
    for (let i = 0; i + 1 < listed.length; i += 2) {
      this.#put(ownerOf(present(listed[i]).toString(), present(listed[i + 1]).toString()));
    }
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  /** A new set for a row; the text is its line in the list. */
  add(group: string, field: string, payload: Uint8Array): { readonly staged: StagedPayload; readonly line: string } {
    const set = `${this.#epoch}.${this.#next++}`;
    const chunks = chunkCount(payload.length);
    this.#put({ set, chunks, group, field });
    return { staged: { set, payload }, line: JSON.stringify([chunks, group, field]) };
  }

  /**
   * Removes and returns the set of a row that is about to be replaced or deleted; the sets of all rows of the group when no field is given.
   */
  drop(group: string, field?: string): readonly ChunkSet[] {
    const rows = this.#groups.get(group);
    if (rows === undefined) return [];
    if (field === undefined) {
      this.#groups.delete(group);
      return [...rows.values()];
    }
    const set = rows.get(field);
    if (set === undefined) return [];
    rows.delete(field);
    if (rows.size === 0) this.#groups.delete(group);
    return [set];
  }

  #put({ group, field, set, chunks }: Owner): void {
    const rows = this.#groups.get(group);
    if (rows === undefined) this.#groups.set(group, new Map([[field, { set, chunks }]]));
    else rows.set(field, { set, chunks });
  }
}

function ownerOf(set: string, line: string): Owner {
  const parsed = parseJson(line);
  const [chunks, group, field]: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
  if (!isCount(chunks) || typeof group !== "string" || typeof field !== "string")
    throw new PerdureError("STO0003", `the list of chunk sets cannot be read at set '${set}'`);
  return { set, chunks, group, field };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
