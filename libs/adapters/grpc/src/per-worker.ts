/**
 * One value (a link or a channel) per worker address. Every roll-out replaces workers and their addresses, so values of workers that are
 * gone are closed: a gateway that runs for months would otherwise keep one for every worker there ever was.
 */
import type { LeaderDirectory } from "./leadership.js";

interface WorkerResource<T> {
  open(address: string): T;
  /** False while a caller waits for an answer through it. */
  isIdle(held: T): boolean;
  close(held: T): void;
}

/** One `T` for each requested address, until its worker is gone. */
export class PerWorker<T> {
  readonly #directory: LeaderDirectory;
  readonly #held: WorkerResource<T>;
  readonly #all = new Map<string, T>();
  readonly #unlisten: () => void;

  constructor(directory: LeaderDirectory, held: WorkerResource<T>) {
    this.#directory = directory;
    this.#held = held;
    this.#unlisten = directory.onChange(() => this.#sweep());
  }

  get size(): number {
    return this.#all.size;
  }

  at(address: string): T {
    const existing = this.#all.get(address);
    if (existing !== undefined) return existing;
    const opened = this.#held.open(address);
    this.#all.set(address, opened);
    return opened;
  }

  close(): void {
    this.#unlisten();
    for (const held of this.#all.values()) this.#held.close(held);
    this.#all.clear();
  }

  /** Values in use stay until the next change. */
  #sweep(): void {
    const present = new Set(this.#directory.workers);
    for (const { address } of this.#directory.claims()) present.add(address);
    for (const [address, held] of this.#all) {
      if (present.has(address) || !this.#held.isIdle(held)) continue;
      this.#all.delete(address);
      this.#held.close(held);
    }
  }
}
