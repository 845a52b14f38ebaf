/** Writes large payloads before the batch that refers to them. */
import { chunkKey, type StagedPayload } from "./big-values.js";
import type { ScriptCall } from "./folding.js";
import { CHUNK_BYTES, STAGED_MS } from "./limits.js";
import { stageScript } from "./scripts.js";

export function stageCalls(prefix: string, epoch: number, mark: string, staged: readonly StagedPayload[]): ScriptCall[] {
  const calls: ScriptCall[] = [];
  for (const { set, payload } of staged) {
    for (let from = 0, n = 0; from < payload.length; from += CHUNK_BYTES, n++) {
      const chunk = payload.subarray(from, from + CHUNK_BYTES);
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      calls.push({ script: stageScript, keys: [`${prefix}epoch`], args: [epoch, mark, chunkKey(set, n), bytes, STAGED_MS] });
    }
  }
  return calls;
}
