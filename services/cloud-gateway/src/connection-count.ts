/**
 * Why: sockets are few and cost nothing to whoever opens them: one machine that holds thousands of them open and says nothing would
 * shut the door for everybody (cloud.md §7, T22). So the connections of each network are counted, and have an end.
 */
import type { Socket } from "node:net";
import { networkOf } from "@perdure/cloud";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";

export class ConnectionCount {
  readonly #max: number;
  readonly #open = new Map<string, number>();

  readonly #proxies: TrustedProxies | undefined;

  /** Connections of `proxies` are those of everybody, and only counted at the listener. */
  constructor(maxPerNetwork: number, proxies?: TrustedProxies) {
    this.#max = maxPerNetwork;
    this.#proxies = proxies;
  }

  /** Networks with connections. */
  get networks(): number {
    return this.#open.size;
  }

  /** False when its network has too many: the socket is closed then. Otherwise it counts until it closes. */
  admit(socket: Socket): boolean {
    if (this.#proxies?.has(socket.remoteAddress) === true) return true;
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
