/**
 * Bounds and results of a check of new code against existing journals. The result is stored with the deployment, travels between roles
 * and is shown to users, so it is plain JSON.
 */
import type { ErrorCode } from "@perdure/base";

/** Bounds of one check. `limits.ts` has the defaults and the upper bounds of requests. */
export interface CheckBounds {
  /** Number of invocations in flight to replay of each handler; those pinned to the code that would be replaced come first. */
  readonly inFlightPerHandler: number;
  /** Number of completed invocations of each handler, the latest first. */
  readonly completedPerHandler: number;
  /** Number of invocations over all handlers. */
  readonly invocations: number;
  /** Timeout of the whole check, the search for journals included. */
  readonly timeoutMs: number;
  /** Timeout of the whole replay of one journal. */
  readonly replayTimeoutMs: number;
  /** Bytes of journals and state over all replays. */
  readonly bytes: number;
  /** Number of concurrent replays. */
  readonly concurrency: number;
}

/** The bounds that a request changes. */
export type CheckOptions = { readonly [K in keyof CheckBounds]?: CheckBounds[K] | undefined };

/** A command of a journal as users name it: its type, and the label that user code gave it. */
export interface CheckedCommand {
  readonly type: string;
  readonly name: string | undefined;
}

/**
 * `journalMismatch` would fail with RT0016 · `handlerMissing`, `protocolVersion` cannot run there at all, no request was made ·
 * `failed` for another reason, which may or may not be in the code · `unclear` a mismatch whose place the endpoint does not report ·
 * `outputDiffers` a completed one would end otherwise, which breaks nothing · `skipped` was not checked, `message` has the reason.
 */
export type FindingKind =
  | "journalMismatch"
  | "handlerMissing"
  | "protocolVersion"
  | "failed"
  | "unclear"
  | "outputDiffers"
  | "skipped";

export interface VerificationFinding {
  readonly kind: FindingKind;
  readonly service: string;
  readonly handler: string;
  /** Number of affected invocations; `invocationId`, `status` and `deploymentId` are those of the first. */
  readonly invocations: number;
  readonly invocationId: string;
  readonly status: string;
  /** The deployment to which the invocation is pinned now. */
  readonly deploymentId: string;
  readonly code: ErrorCode | undefined;
  /** Counts commands, Input being 0; undefined when the endpoint does not report it. */
  readonly commandIndex: number | undefined;
  /** The command in the journal at this index. */
  readonly expected: CheckedCommand | undefined;
  /** The command that the code made instead. */
  readonly actual: CheckedCommand | undefined;
  readonly message: string;
  readonly stacktrace: string | undefined;
}

/** The result of a check. Counts are of invocations. */
export interface Verification {
  readonly checkedAtMs: number;
  readonly durationMs: number;
  /** Invocations with a journal, of the checked handlers; what was replayed is a sample of these when `isComplete` is false. */
  readonly found: number;
  /** Number of replayed invocations. */
  readonly checked: number;
  readonly compatible: number;
  /** Number of invocations that would fail: with a mismatch, or without a handler or protocol version to continue with. */
  readonly incompatible: number;
  readonly failed: number;
  /** Number of invocations that were selected but not replayed. */
  readonly skipped: number;
  /** Whether every invocation in flight was checked. */
  readonly isComplete: boolean;
  /** Findings, those that would fail first. */
  readonly findings: readonly VerificationFinding[];
  readonly findingsLeftOut: number;
}
