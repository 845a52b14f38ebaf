/**
 * Bounds the open connections per network (cloud.md §7, T22). Sockets are limited and cost a client nothing: without a bound, one machine
 * with thousands of idle connections would use up the listener.
 */
import type { Socket } from "node:net";
import { networkOf } from "@perdure/cloud";
import type { TrustedProxies } from "@perdure/cloud/trusted-proxies";

export class ConnectionCount {
  readonly #max: number;
  readonly #open = new Map<string, number>();

  readonly #proxies: TrustedProxies | undefined;

  /** Connections of `proxies` carry requests of all clients, and count only at the listener. */
  constructor(maxPerNetwork: number, proxies?: TrustedProxies) {
    this.#max = maxPerNetwork;
    this.#proxies = proxies;
  }

  /** Networks with open connections. */
  get networks(): number {
    return this.#open.size;
  }

  /** False when the network has too many connections: the caller closes the socket. Otherwise the socket counts until it closes. */
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
