/** Divides long work of the processor into slices, so that the event loop runs other tasks in between. */
import { setImmediate } from "node:timers/promises";

/** Bytes of journal redacted in one slice: some milliseconds of JSON with many fields. One entry is not divided. */
export const SLICE_BYTES = 128 * 1024;

export class Slices {
  #bytes = 0;

  /** Call it after work on so many bytes. */
  async after(bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes < SLICE_BYTES) return;
    this.#bytes = 0;
    await setImmediate();
  }
}
