/**
 * Chooses ports of this machine that no other process uses. A runtime keeps its ports, so a client that has its address keeps reaching it.
 */
import { createServer } from "node:net";
import { PerdureError } from "@perdure/base";

export const LOOPBACK = "127.0.0.1";

export interface PortRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

export class PortPool {
  readonly #range: PortRange;
  readonly #used = new Set<number>();
  #next: number;

  constructor(range: PortRange) {
    this.#range = range;
    this.#next = range.first;
  }

  /** An environment has it already. */
  keep(port: number): void {
    this.#used.add(port);
  }

  giveBack(port: number): void {
    this.#used.delete(port);
  }

  /** A port that can be bound now. Rejects with OPS0001 when there is none left. */
  async take(): Promise<number> {
    const { first, last } = this.#range;
    for (let tried = first; tried <= last; tried++) {
      const port = this.#next;
      this.#next = port === last ? first : port + 1;
      if (this.#used.has(port)) continue;
      this.#used.add(port);
      if (await isFree(port)) return port;
      this.#used.delete(port);
    }
    throw new PerdureError("OPS0001", `no port between ${first} and ${last} is free for another runtime`);
  }
}

/** Binds the port and releases it again. The answer may be outdated at once; only the process that binds the port for good can be sure. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, LOOPBACK, () => probe.close(() => resolve(true)));
  });
}
