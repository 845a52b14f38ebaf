/** Divides long work of the processor into slices, so that the event loop runs other tasks in between. */
import { setImmediate } from "node:timers/promises";

/** Bytes of journal redacted in one slice, some ten milliseconds of JSON with many fields. A larger payload is divided. */
export const SLICE_BYTES = 16 * 1024;
/** Tokens of JSON in one slice of a payload, about as long. */
export const SLICE_TOKENS = 4_000;

/** Work that yields after each slice, and its result. */
export type Sliced<T> = Generator<void, T, void>;

/** The result of work that is small or cannot wait. */
export function atOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

export class Slices {
  #bytes = 0;

  /** The result of the work; other tasks of the event loop run after each of its slices. */
  async run<T>(work: Sliced<T>): Promise<T> {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      await setImmediate();
    }
  }

  /** Call it after work on so many bytes. */
  async after(bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes < SLICE_BYTES) return;
    this.#bytes = 0;
    await setImmediate();
  }
}
