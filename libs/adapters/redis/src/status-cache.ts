/**
 * Caches the status bytes that a leader wrote. Every step of an invocation writes its row, but the status byte in the index seldom changes
 * with it. The leader is the only writer, so the cached byte is the stored one and need not be written again.
 */
import { BoundedCache, type InvocationId } from "@perdure/base";
import { CACHED_STATUSES_MAX } from "./limits.js";

export class StatusCache {
  readonly #bytes = new BoundedCache<InvocationId, number>({ entriesMax: CACHED_STATUSES_MAX });

  /** Whether the byte must be written; the cache then has it. A byte that was evicted is written once more than it must be. */
  needsWrite(id: InvocationId, byte: number): boolean {
    if (this.#bytes.peek(id) === byte) return false;
    this.#bytes.set(id, byte);
    return true;
  }

  /** Called when the id leaves the index. */
  evict(id: InvocationId): void {
    this.#bytes.delete(id);
  }
}
