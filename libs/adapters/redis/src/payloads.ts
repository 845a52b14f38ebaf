/** Resolves stored values, which hold a payload or the name of its chunks, to payloads in memory of their own. */
import { concatBytes, PerdureError } from "@perdure/base";
import { type ChunkSet, chunkKeys, storedPayload } from "./big-values.js";
import { CHUNKS_AT_ONCE, READ_ATTEMPTS_MAX } from "./limits.js";
import type { RedisCommand } from "./link.js";
import type { PartitionReads } from "./reads.js";
import { bytesReply } from "./replies.js";

/**
 * A stored value. `again` reads the value anew, because its chunks are deleted when it is replaced. Without `again` the value was deleted
 * with its journal.
 */
export interface StoredCell {
  readonly stored: Buffer | null;
  readonly again: RedisCommand | undefined;
}

/** The payloads in the order of the cells; the chunks of all that have some are read together. */
export async function payloadsOf(
  requester: PartitionReads,
  prefix: string,
  cells: readonly StoredCell[],
): Promise<(Uint8Array | undefined)[]> {
  const payloads: (Uint8Array | undefined)[] = [];
  const chunked: (readonly [n: number, set: ChunkSet])[] = [];
  for (const [n, { stored }] of cells.entries()) {
    const payload = stored === null ? undefined : storedPayload(stored);
    if (payload === undefined || payload instanceof Uint8Array) payloads.push(payload);
    else {
      payloads.push(undefined);
      chunked.push([n, payload]);
    }
  }
  if (chunked.length === 0) return payloads;
  const sets = chunked.map(([, set]) => set);
  const whole = await readSets(requester, prefix, sets);
  for (const [i, [n, set]] of chunked.entries())
    payloads[n] = whole[i] ?? (await readAgain(requester, prefix, set, cells[n]?.again));
  return payloads;
}

/** Reads a row whose chunks are gone once more: by now it is another row, or none. */
async function readAgain(
  requester: PartitionReads,
  prefix: string,
  gone: ChunkSet,
  again: RedisCommand | undefined,
): Promise<Uint8Array | undefined> {
  if (again === undefined) return undefined;
  let missing = gone;
  for (let attempt = 1; attempt < READ_ATTEMPTS_MAX; attempt++) {
    const stored = bytesReply(await requester.one(again));
    const payload = stored === null ? undefined : storedPayload(stored);
    if (payload === undefined || payload instanceof Uint8Array) return payload;
    const [whole] = await readSets(requester, prefix, [payload]);
    if (whole !== undefined) return whole;
    missing = payload;
  }
  throw new PerdureError("STO0003", `chunks of a stored value are missing: ${missing.set}`);
}

/** The payload of each set; undefined when a chunk is gone. */
async function readSets(
  requester: PartitionReads,
  prefix: string,
  sets: readonly ChunkSet[],
): Promise<(Uint8Array | undefined)[]> {
  const keys = sets.flatMap(chunkKeys);
  const chunks: (Buffer | null)[] = [];
  for (let from = 0; from < keys.length; from += CHUNKS_AT_ONCE) {
    const replies = await requester.request(keys.slice(from, from + CHUNKS_AT_ONCE).map((key) => ["GET", prefix + key]));
    for (const reply of replies) chunks.push(bytesReply(reply));
  }
  let at = 0;
  return sets.map((set) => {
    const own = chunks.slice(at, at + set.chunks);
    at += set.chunks;
    const stored = own.filter((chunk) => chunk !== null);
    return stored.length === own.length ? concatBytes(...stored) : undefined;
  });
}
