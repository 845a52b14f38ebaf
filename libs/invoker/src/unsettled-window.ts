/**
 * Back-pressure from the partition to the endpoint: an attempt whose commands become durable more slowly than they arrive stops
 * reading. Kept by asking the host twice a window when all so far is settled, not by counting entries one by one.
 */
import { UNSETTLED_BYTES_MAX, UNSETTLED_COMMANDS_MAX } from "./limits.js";

export interface WindowEvents {
  settled(callback: () => void): void;
  windowFull(): void;
  windowFreed(): void;
}

export class UnsettledWindow {
  readonly #events: WindowEvents;
  #bytes = 0;
  #commands = 0;
  #asked = false;
  #full = false;

  constructor(events: WindowEvents) {
    this.#events = events;
  }

  /** A command of `bytes` was submitted. */
  add(bytes: number): void {
    this.#bytes += bytes;
    this.#commands++;
    if (!this.#full && (this.#bytes > UNSETTLED_BYTES_MAX || this.#commands > UNSETTLED_COMMANDS_MAX)) {
      this.#full = true;
      this.#events.windowFull();
    }
    this.#askIfHalfFull();
  }

  #askIfHalfFull(): void {
    if (this.#asked || (this.#bytes * 2 <= UNSETTLED_BYTES_MAX && this.#commands * 2 <= UNSETTLED_COMMANDS_MAX)) return;
    this.#asked = true;
    const bytes = this.#bytes;
    const commands = this.#commands;
    this.#events.settled(() => this.#settled(bytes, commands));
  }

  #settled(bytes: number, commands: number): void {
    this.#asked = false;
    this.#bytes -= bytes;
    this.#commands -= commands;
    if (this.#full && this.#bytes * 2 <= UNSETTLED_BYTES_MAX && this.#commands * 2 <= UNSETTLED_COMMANDS_MAX) {
      this.#full = false;
      this.#events.windowFreed();
    }
    this.#askIfHalfFull();
  }
}
