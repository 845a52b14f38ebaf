/** What a signal to stop means for a process that may have received one before. */
import type { Clock } from "./clock.js";

/**
 * A signal to a process group reaches a program twice when its parent belongs to the group and forwards it (npm, npx, and the launcher of the
 * package `perdure` on an old Node). The copy arrives within milliseconds, also on a busy machine; a user takes longer to repeat Ctrl-C.
 */
const DUPLICATE_MS_MAX = 500;

/** `stop`: stop in order. `duplicate`: the same request again, to be ignored. `at-once`: end without stopping in order. */
type StopSignalMeaning = "stop" | "duplicate" | "at-once";

export class StopSignals {
  readonly #clock: Clock;
  #first: { readonly name: string; readonly atMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  receive(name: string): StopSignalMeaning {
    const atMs = this.#clock.monotonicMs();
    if (this.#first === undefined) {
      this.#first = { name, atMs };
      return "stop";
    }
    return this.#first.name === name && atMs - this.#first.atMs <= DUPLICATE_MS_MAX ? "duplicate" : "at-once";
  }
}
