/** Gathers the frames of a connection until they are written in one piece, or in few. */
import { FRAME_HEAD_BYTES } from "./protocol.js";

/** Frames of a turn usually fit a part of it. */
const SLAB_BYTES = 64 * 1024;
/** A slab with less space is left, and the next one is begun. */
const SLAB_REST_BYTES_MIN = 1_024;
/** A payload from this length on is written as it is; shorter ones are copied. */
const COPIED_BYTES_MAX = 4 * 1024;

export class FrameWriter {
  #slab = Buffer.allocUnsafe(SLAB_BYTES);
  /** Bytes of the slab before it belong to pieces that were cut off. */
  #start = 0;
  #end = 0;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** Bytes that wait. */
  get length(): number {
    return this.#bytes;
  }

  /** The head of a frame whose payload follows. */
  head(type: number, flags: number, streamId: number, payloadBytes: number): void {
    this.#reserve(FRAME_HEAD_BYTES);
    const slab = this.#slab;
    const at = this.#end;
    slab[at] = payloadBytes >> 16;
    slab[at + 1] = payloadBytes >> 8;
    slab[at + 2] = payloadBytes;
    slab[at + 3] = type;
    slab[at + 4] = flags;
    this.#end = at + 5;
    this.#writeUint32(streamId);
    this.#bytes += FRAME_HEAD_BYTES;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#writeUint32(value);
    this.#bytes += 4;
  }

  /** The bytes must not change until they are written. */
  bytes(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (bytes.length <= COPIED_BYTES_MAX) {
      this.#reserve(bytes.length);
      this.#slab.set(bytes, this.#end);
      this.#end += bytes.length;
      return;
    }
    this.#cut();
    this.#pieces.push(bytes);
  }

  /** Returns what was gathered, in order; it belongs to the caller. */
  take(): readonly Uint8Array[] {
    this.#cut();
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bytes = 0;
    if (SLAB_BYTES - this.#end < SLAB_REST_BYTES_MIN) this.#begin(SLAB_BYTES);
    return pieces;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#slab.length) return;
    this.#cut();
    this.#begin(Math.max(SLAB_BYTES, bytes));
  }

  #begin(bytes: number): void {
    this.#slab = Buffer.allocUnsafe(bytes);
    this.#start = 0;
    this.#end = 0;
  }

  #cut(): void {
    if (this.#start === this.#end) return;
    this.#pieces.push(this.#slab.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }

  #writeUint32(value: number): void {
    const slab = this.#slab;
    const at = this.#end;
    slab[at] = value >>> 24;
    slab[at + 1] = value >>> 16;
    slab[at + 2] = value >>> 8;
    slab[at + 3] = value;
    this.#end = at + 4;
  }
}
