/**
 * Counts the states of the registry and how far each further thread has received them. A client that has changed the registry may call any
 * thread, so its change is answered when all of them show it.
 */
import type { RegistryView } from "@perdure/control";

interface WaitingChange {
  readonly state: bigint;
  readonly resolve: () => void;
}

export class RegistryStates {
  /** As the service of the registry counts them, from the same moment on. */
  #present = 1n;
  /** The last state of each further thread. */
  readonly #received: bigint[];
  #waiting: WaitingChange[] = [];

  constructor(registry: Pick<RegistryView, "onChange">, threads: number) {
    this.#received = Array<bigint>(threads).fill(0n);
    registry.onChange(() => this.#present++);
  }

  /** `thread` is one of 1 … threads. */
  report(thread: number, state: bigint): void {
    this.#received[thread - 1] = state;
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ state: awaited }) => !this.#isReceived(awaited));
    for (const change of waiting) if (!this.#waiting.includes(change)) change.resolve();
  }

  /** Resolves when all threads have the present state. */
  reached(): Promise<void> {
    const state = this.#present;
    if (this.#isReceived(state)) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push({ state, resolve }));
  }

  #isReceived(state: bigint): boolean {
    return this.#received.every((received) => received >= state);
  }
}
