/**
 * Defaults for attempts and journals that services may override. The registry shows them and workers apply them: both read these settings,
 * under the same names.
 */
import type { RetryPolicy } from "@perdure/control";
import type { z } from "zod";
import { choice, decimal, duration, group, integer, optionalDuration, optionalInteger } from "../config/setting.js";

const retryPolicySettings = group("How failed attempts are repeated unless a service or handler says otherwise.", {
  initialInterval: duration("500ms", { sentence: "Pause before the second attempt (duration).", minMs: 1 }),
  exponentiationFactor: decimal(2, { sentence: "Each further pause is this many times longer.", min: 1, max: 1000 }),
  maxInterval: duration("1m", { sentence: "No pause is longer than this (duration).", minMs: 1 }),
  maxAttempts: integer(70, { sentence: "Attempts in all, the first included.", min: 1 }),
  onMaxAttempts: choice(["pause", "kill"], "pause", {
    sentence: "When attempts are exhausted: pause the invocation, or kill, which ends it with its last error.",
  }),
});

/** Settings of the group `worker.invoker`. */
export const attemptSettings = {
  inactivityTimeout: duration("1m", {
    sentence: "After so long without a message in either direction the handler is requested to suspend (duration).",
  }),
  abortTimeout: duration("10m", {
    sentence:
      "After so long without a message from a handler that was requested to suspend its stream is aborted, RT0001 (duration).",
  }),
  maxRetryPolicyMaxAttempts: optionalInteger({ sentence: "Upper bound of the attempts of any retry policy.", min: 1 }),
  defaultRetryPolicy: retryPolicySettings,
} as const;

/** Settings of the group `worker`. */
export const retentionSettings = {
  defaultJournalRetention: duration("1d", { sentence: "How long journals of completed invocations are kept (duration)." }),
  defaultIdempotencyRetention: duration("1d", {
    sentence: "How long outcomes of calls with an idempotency key are kept (duration).",
  }),
  defaultWorkflowRetention: duration("1d", { sentence: "How long outcomes and promises of workflows are kept (duration)." }),
  maxJournalRetention: optionalDuration({ sentence: "Upper bound of the journal retention of services (duration)." }),
} as const;

export interface RetentionSettings {
  readonly defaultJournalRetention: number;
  readonly defaultIdempotencyRetention: number;
  readonly defaultWorkflowRetention: number;
  readonly maxJournalRetention?: number | undefined;
}

/** The retry policy of a group that has `attemptSettings`. */
export function retryPolicyOf({
  defaultRetryPolicy: policy,
}: {
  readonly defaultRetryPolicy: z.output<typeof retryPolicySettings>;
}): RetryPolicy {
  return {
    initialIntervalMs: policy.initialInterval,
    factor: policy.exponentiationFactor,
    maxIntervalMs: policy.maxInterval,
    maxAttempts: policy.maxAttempts,
    onMaxAttempts: policy.onMaxAttempts,
  };
}
