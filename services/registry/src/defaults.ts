/** Options of a service that neither its manifest nor an operator sets (service-protocol.md §8, §11). */
import type { RetryPolicy } from "@perdure/control";

export interface ServiceDefaults {
  readonly idempotencyRetentionMs: number;
  readonly workflowRetentionMs: number;
  readonly journalRetentionMs: number;
  readonly inactivityTimeoutMs: number;
  readonly abortTimeoutMs: number;
  readonly enableLazyState: boolean;
  readonly retryPolicy: RetryPolicy;
  /** Caps, applied last; `undefined` = none. */
  readonly journalRetentionMaxMs: number | undefined;
  /** Retention of anything that is kept of a completed invocation: outcome of a key, of a workflow, journal. */
  readonly retentionMaxMs: number | undefined;
  readonly maxAttemptsMax: number | undefined;
}

const DAY_MS = 86_400_000;

export const SERVICE_DEFAULTS: ServiceDefaults = {
  idempotencyRetentionMs: DAY_MS,
  workflowRetentionMs: DAY_MS,
  journalRetentionMs: DAY_MS,
  inactivityTimeoutMs: 60_000,
  abortTimeoutMs: 600_000,
  enableLazyState: false,
  retryPolicy: { initialIntervalMs: 500, factor: 2, maxIntervalMs: 60_000, maxAttempts: 70, onMaxAttempts: "pause" },
  journalRetentionMaxMs: undefined,
  retentionMaxMs: undefined,
  maxAttemptsMax: undefined,
};
