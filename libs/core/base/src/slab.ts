/**
 * Allocation of small byte arrays. In Node 24 a `Uint8Array` of more than 64 bytes has memory of its own outside the heap, which costs
 * about 2 µs to allocate; a view into a shared slab costs 0.06 µs (2026-11). Each invocation needs a dozen small arrays, so they come from
 * slabs. `Buffer` has such a pool too, but a `Buffer`'s `slice` does not copy, which is a trap for code that expects a `Uint8Array`.
 */
import { SLAB_BYTES, SLAB_ITEM_BYTES_MAX, UNFILLED_BYTES_MIN } from "./limits.js";

let slab: ArrayBufferLike = new ArrayBuffer(0);
let used = 0;

/**
 * Memory for exactly `size` bytes that no other caller has. Its content is undefined: fill all of it before passing it on. Up to 1 KiB the
 * underlying `ArrayBuffer` is shared (a retained item retains 8 KiB), so never transfer it to a worker.
 */
export function allocateBytes(size: number): Uint8Array {
  if (size >= UNFILLED_BYTES_MIN) return new Uint8Array(Buffer.allocUnsafeSlow(size).buffer);
  if (size > SLAB_ITEM_BYTES_MAX) return new Uint8Array(size);
  if (used + size > slab.byteLength) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES).buffer;
    used = 0;
  }
  const item = new Uint8Array(slab, used, size);
  used = (used + size + 7) & ~7; // Align the next array to 8 bytes.
  return item;
}
