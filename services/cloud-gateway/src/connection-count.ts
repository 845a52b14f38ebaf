/**
 * Why: sockets are few and cost nothing to whoever opens them: one machine that holds thousands of them open and says nothing would
 * shut the door for everybody (cloud.md §7, T22). So the connections of each network are counted, and have an end.
 */
import type { Socket } from "node:net";
import { networkOf } from "@perdure/cloud";

export class ConnectionCount {
  readonly #max: number;
  readonly #open = new Map<string, number>();

  constructor(maxPerNetwork: number) {
    this.#max = maxPerNetwork;
  }

  /** Networks with connections. */
  get networks(): number {
    return this.#open.size;
  }

  /** False when its network has too many: the socket is closed then. Otherwise it counts until it closes. */
  admit(socket: Socket): boolean {
    const network = networkOf(socket.remoteAddress);
    const open = this.#open.get(network) ?? 0;
    if (open >= this.#max) {
      socket.destroy();
      return false;
    }
    this.#open.set(network, open + 1);
    socket.once("close", () => this.#closed(network));
    return true;
  }

  #closed(network: string): void {
    const open = this.#open.get(network) ?? 0;
    if (open > 1) this.#open.set(network, open - 1);
    else this.#open.delete(network);
  }
}
