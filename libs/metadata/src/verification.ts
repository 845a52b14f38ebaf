/**
 * Bounds and results of a check of new code against existing journals. The result is stored with the deployment, travels between roles
 * and is shown to users, so it is plain JSON.
 */
import type { ErrorCode } from "@perdure/base";

/** What one check may take. `limits.ts` has the defaults and how far a request may go. */
export interface CheckBounds {
  /** Invocations in flight that are replayed, of each handler; those pinned to the code that would be replaced come first. */
  readonly inFlightPerHandler: number;
  /** Completed ones, of each handler, the latest first. */
  readonly completedPerHandler: number;
  /** Of all handlers together. */
  readonly invocations: number;
  /** For the whole check, looking for journals included. */
  readonly timeoutMs: number;
  /** Timeout of the whole replay of one journal. */
  readonly replayTimeoutMs: number;
  /** Journals and state, of all that is replayed. */
  readonly bytes: number;
  /** Replays at the same time. */
  readonly concurrency: number;
}

/** What a request changes of the default bounds. */
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
  /** How many invocations this is about; `invocationId`, `status` and `deploymentId` are those of the first. */
  readonly invocations: number;
  readonly invocationId: string;
  readonly status: string;
  /** Where the invocation belongs now. */
  readonly deploymentId: string;
  readonly code: ErrorCode | undefined;
  /** Counts commands, Input being 0; undefined when the endpoint does not report it. */
  readonly commandIndex: number | undefined;
  /** What the journal has there. */
  readonly expected: CheckedCommand | undefined;
  /** The command that the code made instead. */
  readonly actual: CheckedCommand | undefined;
  readonly message: string;
  readonly stacktrace: string | undefined;
}

/** Counts are of invocations. */
export interface Verification {
  readonly checkedAtMs: number;
  readonly durationMs: number;
  /** Invocations with a journal, of the checked handlers; what was replayed is a sample of these when `isComplete` is false. */
  readonly found: number;
  /** Replayed. */
  readonly checked: number;
  readonly compatible: number;
  /** Would fail: replayed with a mismatch, or without a handler or a protocol version to go on with. */
  readonly incompatible: number;
  readonly failed: number;
  /** Chosen and not replayed. */
  readonly skipped: number;
  /** Whether every invocation in flight was checked. */
  readonly isComplete: boolean;
  /** Those that would fail first. */
  readonly findings: readonly VerificationFinding[];
  readonly findingsLeftOut: number;
}
