/** Bounds the requests that are answered at one time, in all and per network (T22). */
import { networkOf } from "@perdure/cloud";
import { TenancyApiError } from "@perdure/cloud-requests";
import { REQUESTS_MAX, REQUESTS_OF_NETWORK_MAX } from "./limits.js";
import type { RequestLimits } from "./ports.js";

export class OpenRequests {
  #count = 0;
  readonly #limits: RequestLimits;
  readonly #ofNetwork = new Map<string, number>();

  constructor(limits: RequestLimits = { atOnceMax: REQUESTS_MAX, ofNetworkMax: REQUESTS_OF_NETWORK_MAX }) {
    this.#limits = limits;
  }

  /** `remote`: the client's address. Throws PERD0429; returns a function that frees the slot, which is idempotent. */
  enter(remote: string | undefined): () => void {
    const network = networkOf(remote);
    const theirs = this.#ofNetwork.get(network) ?? 0;
    if (this.#count >= this.#limits.atOnceMax || theirs >= this.#limits.ofNetworkMax) {
      throw new TenancyApiError("PERD0429", "Too many requests at once", { "retry-after": "1" });
    }
    this.#count++;
    this.#ofNetwork.set(network, theirs + 1);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#count--;
      const left = (this.#ofNetwork.get(network) ?? 1) - 1;
      if (left === 0) this.#ofNetwork.delete(network);
      else this.#ofNetwork.set(network, left);
    };
  }
}
