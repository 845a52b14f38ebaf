/** Retry policies (service-protocol §8.2): the delay before the next attempt, and when there is none. */
import type { Random } from "@perdure/base";
import type { RetryPolicy } from "@perdure/control";
import { RETRY_DELAY_MS_MAX, RETRY_JITTER } from "./limits.js";

export class RetryBudget {
  readonly #random: Random;
  readonly #attemptsMax: number | undefined;
  /** Delays used of the policy. The policy may be another one each time: used delays stay used. */
  #used = 0;

  /** @param attemptsMax server-wide cap on every policy's attempts */
  constructor(random: Random, attemptsMax: number | undefined) {
    this.#random = random;
    this.#attemptsMax = attemptsMax;
  }

  /** Milliseconds until the next attempt; undefined when the policy allows none. Uses one attempt of the budget. */
  next(policy: RetryPolicy): number | undefined {
    const { maxAttempts = Number.POSITIVE_INFINITY } = policy;
    const attemptsMax = Math.max(1, Math.min(maxAttempts, this.#attemptsMax ?? Number.POSITIVE_INFINITY));
    if (this.#used + 1 >= attemptsMax) return undefined;
    const grown = policy.initialIntervalMs * policy.factor ** this.#used;
    this.#used++;
    const capped = Math.min(grown, policy.maxIntervalMs ?? RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MAX);
    return capped * (1 + RETRY_JITTER * this.#random.float());
  }

  /** A fresh budget, as after a manual resume. */
  reset(): void {
    this.#used = 0;
  }
}
