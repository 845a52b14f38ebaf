/** Why: requests that may take hours are counted by themselves, in all and for each person: nobody alone fills the room, and all together do not burst it. */
import type { UserId } from "@perdure/cloud";
import { ApiError } from "../api/errors.js";

export interface TurnstileLimits {
  readonly all: number;
  readonly ofUser: number;
}

export class Turnstile {
  readonly #limits: TurnstileLimits;
  #inside = 0;
  readonly #insideOf = new Map<UserId, number>();

  constructor(limits: TurnstileLimits) {
    this.#limits = limits;
  }

  get inside(): number {
    return this.#inside;
  }

  /** Before it is known who comes. Throws PERD0429; the visit ends with `leave`. */
  enter(): Visit {
    if (this.#inside >= this.#limits.all) throw full();
    this.#inside++;
    let user: UserId | undefined;
    let isInside = true;
    return {
      known: (id) => {
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

export interface Visit {
  /** Throws PERD0429. */
  known(user: UserId): void;
  /** Idempotent. */
  leave(): void;
}

function full(): ApiError {
  return new ApiError("PERD0429", "Too many requests at once", { "retry-after": "1" });
}
