/** Decides when the garbage of a process is worth a full collection. */
import { IDLE_BUSY_MAX, IDLE_CHECKS_MIN, IDLE_GARBAGE_BYTES_MIN, IDLE_GARBAGE_SHARE_MIN } from "./limits.js";

interface IdleChecksPorts {
  /** Average number of busy processors of this process since the last call: 0.5 is half of one. */
  readonly busy: () => number;
  /** Bytes in the old generation and of buffers outside the heap, garbage included. */
  readonly oldBytes: () => number;
  /** A full collection. */
  readonly collect: () => void;
}

/** Decides at each check whether a collection is worth its pause. */
export class IdleChecks {
  readonly #ports: IdleChecksPorts;
  #idleChecks = 0;
  /** Estimate of the live bytes after the last collection. */
  #aliveBytes: number;

  constructor(ports: IdleChecksPorts) {
    this.#ports = ports;
    this.#aliveBytes = ports.oldBytes();
  }

  check(): void {
    const { busy, oldBytes, collect } = this.#ports;
    this.#idleChecks = busy() <= IDLE_BUSY_MAX ? this.#idleChecks + 1 : 0;
    const bytes = oldBytes();
    this.#aliveBytes = Math.min(this.#aliveBytes, bytes); // V8 collected by itself.
    const enough = Math.max(IDLE_GARBAGE_BYTES_MIN, this.#aliveBytes * IDLE_GARBAGE_SHARE_MIN);
    if (this.#idleChecks < IDLE_CHECKS_MIN || bytes - this.#aliveBytes < enough) return;
    collect();
    this.#aliveBytes = oldBytes();
    this.#idleChecks = 0;
  }
}
