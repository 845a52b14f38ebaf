/** Why: a relay that is away must neither be hammered nor missed for long once it is back. */
import type { Random } from "@perdure/base";
import { BACKOFF_FIRST_MS, BACKOFF_JITTER, BACKOFF_LONGEST_MS, BACKOFF_RESET_MS } from "../limits.js";

export class Backoff {
  readonly #random: Random;
  #failures = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** How long to wait after a connection that served for `servedMs`; 0 when it never did. */
  next(servedMs: number): number {
    if (servedMs >= BACKOFF_RESET_MS) this.#failures = 0;
    const plain = Math.min(BACKOFF_LONGEST_MS, BACKOFF_FIRST_MS * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    return Math.round(plain * (1 + BACKOFF_JITTER * (2 * this.#random.float() - 1)));
  }
}
