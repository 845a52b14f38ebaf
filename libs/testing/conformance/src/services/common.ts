/** Helpers that the services of the suites share: quick retries, a serde that is neither JSON nor bytes, and time that is not durable. */
import type { RetryPolicy, Serde } from "@restatedev/restate-sdk";

/** Failing attempts repeat soon: the suites wait for the second attempt, not for the pause before it. */
export const QUICK_RETRIES: RetryPolicy = { initialInterval: 10, maxInterval: 100, exponentiationFactor: 2, maxAttempts: 1_000 };

/** Text as it is, e.g. for `text/plain` handlers. */
export const textSerde: Serde<string> = {
  contentType: "text/plain",
  serialize: (text) => new TextEncoder().encode(text),
  deserialize: (bytes) => new TextDecoder().decode(bytes),
};

/** Longer than any test: a handler that sleeps so long is woken by another event. */
export const FOREVER_MS = 3_600_000;

export interface Terminal {
  readonly message: string;
  readonly code?: number;
  readonly metadata?: Record<string, string>;
}
