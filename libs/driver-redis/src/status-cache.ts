/**
 * Why: every step of an invocation writes its row anew, but its status byte, which the index of what runs repeats, seldom changes with
 * it. A leadership is the only writer, so what it wrote itself is what is stored, and need not be written again.
 */
import type { InvocationId } from "@perdure/base";
import { CACHED_STATUSES_MAX } from "./limits.js";

export class StatusCache {
  readonly #bytes = new Map<InvocationId, number>();

  /** Whether the byte must be written, which makes it known. */
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
