/** Why: what a read finds may be payloads or the names of their chunks; whoever reads wants payloads, in memory of their own. */
import { concatBytes, PerdureError } from "@perdure/base";
import { type Asker, answer } from "./asking.js";
import { type ChunkSet, chunkKeys, storedPayload } from "./big-values.js";
import { CHUNKS_AT_ONCE, READ_ATTEMPTS_MAX } from "./limits.js";
import type { Command } from "./link.js";

/** A value as it was found. `again` reads it anew: its chunks go when it is replaced. Without, it was deleted with its journal. */
export interface Cell {
  readonly stored: Buffer | null;
  readonly again: Command | undefined;
}

/** The payloads in the order of the cells; one round trip more when some are in chunks. */
export async function payloadsOf(asker: Asker, prefix: string, cells: readonly Cell[]): Promise<(Uint8Array | undefined)[]> {
  const payloads: (Uint8Array | undefined)[] = [];
  for (const { stored, again } of cells) {
    let found = stored === null ? undefined : storedPayload(stored);
    for (let attempt = 1; found !== undefined && !(found instanceof Uint8Array); attempt++) {
      const whole = await readChunks(asker, prefix, found);
      if (whole !== undefined || again === undefined) {
        found = whole;
        break;
      }
      if (attempt === READ_ATTEMPTS_MAX) throw new PerdureError("STO0003", `chunks of a stored value are missing: ${found.set}`);
      const reread = (await asker.one(again)) as Buffer | null;
      found = reread === null ? undefined : storedPayload(reread);
    }
    payloads.push(found);
  }
  return payloads;
}

/** Undefined when a chunk is gone. */
async function readChunks(asker: Asker, prefix: string, set: ChunkSet): Promise<Uint8Array | undefined> {
  const keys = chunkKeys(set);
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < keys.length; from += CHUNKS_AT_ONCE) {
    const replies = await asker.ask(keys.slice(from, from + CHUNKS_AT_ONCE).map((key) => ["GET", prefix + key]));
    for (const reply of replies) {
      const chunk = answer(reply);
      if (chunk === null) return undefined;
      chunks.push(chunk as Buffer);
    }
  }
  return concatBytes(...chunks);
}
