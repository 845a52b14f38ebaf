/**
 * Caches the status bytes that a leader wrote. Every step of an invocation writes its row, but the status byte in the index seldom changes
 * with it. The leader is the only writer, so the cached byte is the stored one and need not be written again.
 */
import type { InvocationId } from "@perdure/base";
import { CACHED_STATUSES_MAX } from "./limits.js";

export class StatusCache {
  readonly #bytes = new Map<InvocationId, number>();

  /** Whether the byte must be written; the cache then holds it. */
  needsWrite(id: InvocationId, byte: number): boolean {
    if (this.#bytes.get(id) === byte) return false;
    if (this.#bytes.size >= CACHED_STATUSES_MAX) this.#bytes.clear(); // Written once more than they must be.
    this.#bytes.set(id, byte);
    return true;
  }

  /** It leaves the index. */
  evict(id: InvocationId): void {
    this.#bytes.delete(id);
  }
}
