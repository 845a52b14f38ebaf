/** Bounds proxied requests, in all and for each user. They may take hours, so they do not count as open requests. */
import type { UserId } from "@perdure/cloud";
import { TenancyApiError } from "@perdure/cloud-requests";

interface ProxySemaphoreLimits {
  readonly all: number;
  readonly ofUser: number;
}

export class ProxySemaphore {
  readonly #limits: ProxySemaphoreLimits;
  #inside = 0;
  readonly #insideOf = new Map<UserId, number>();

  constructor(limits: ProxySemaphoreLimits) {
    this.#limits = limits;
  }

  get inside(): number {
    return this.#inside;
  }

  /** Takes a slot before the user is known. Throws PERD0429; `leave` frees the slot. */
  enter(): ProxyPermit {
    if (this.#inside >= this.#limits.all) throw full();
    this.#inside++;
    let user: UserId | undefined;
    let isInside = true;
    return {
      assignUser: (id) => {
        const mine = this.#insideOf.get(id) ?? 0;
        if (mine >= this.#limits.ofUser) throw full();
        if (!isInside) return;
        user = id;
        this.#insideOf.set(id, mine + 1);
      },
      leave: () => {
        if (!isInside) return;
        isInside = false;
        this.#inside--;
        if (user === undefined) return;
        const left = (this.#insideOf.get(user) ?? 1) - 1;
        if (left === 0) this.#insideOf.delete(user);
        else this.#insideOf.set(user, left);
      },
    };
  }
}

interface ProxyPermit {
  /** Throws PERD0429. */
  assignUser(user: UserId): void;
  /** Idempotent. */
  leave(): void;
}

function full(): TenancyApiError {
  return new TenancyApiError("PERD0429", "Too many requests at once", { "retry-after": "1" });
}
