/** Why: what a recorded world holds and how it must end is written down when it is recorded; the suites go by that. */

/** Required end of an invocation. */
export interface ExpectedEnd {
  /** Subject of the fact, for messages. */
  readonly what: string;
  readonly id: string;
  /** Status when it was recorded, as `sys_invocation` has it. */
  readonly status: string;
  /** Result of the invocation; undefined for a failure. */
  readonly value?: unknown;
  /** Code of its failure. */
  readonly code?: number;
}

export interface RecordedFacts {
  readonly deploymentId: string;
  readonly ends: readonly ExpectedEnd[];
  /** Awakeables that were not completed, with the values that complete them. */
  readonly awakeables: readonly { readonly id: string; readonly value: string }[];
  /** Invocation that waits for the signal `go`. */
  readonly listenerId: string;
  /** A call whose result is retained: the same key again must give the same value. */
  readonly idempotent: { readonly key: string; readonly name: string; readonly value: string };
  readonly pausedIds: readonly string[];
  readonly pausedQueue: string;
  /** Wait in the paused queue. */
  readonly queuedIds: readonly string[];
  /** Sends were under way to objects `<name> 0` … when the processes were killed. */
  readonly fan: { readonly name: string; readonly count: number };
  readonly schedules: readonly string[];
  /** Outbox messages that were not acknowledged. */
  readonly outboxCount: number;
}
