/** How the programs of these tests acknowledge what they have written. */
import { writeSync } from "node:fs";

const nothing = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes a line to stdout and returns when the system has it, so that a killed program lacks the line of one batch at most. Streams of
 * Node queue lines inside the process while the reader is behind.
 */
export function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EAGAIN") throw cause; // The pipe is full.
      Atomics.wait(nothing, 0, 0, 1);
    }
  }
}
