/**
 * Why: what a check of new code against old journals may take, and what it found out. The outcome is kept with the deployment, travels
 * between roles and is shown to people, so it is plain JSON.
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
  /** For all that is asked about one journal. */
  readonly replayTimeoutMs: number;
  /** Journals and state, of all that is replayed. */
  readonly bytes: number;
  /** Replays at the same time. */
  readonly concurrency: number;
}

/** What a request changes of the default bounds. */
export type CheckOptions = { readonly [K in keyof CheckBounds]?: CheckBounds[K] | undefined };

/** A command of a journal as people name it: its type, and the label user code gave it. */
export interface CheckedCommand {
  readonly type: string;
  readonly name: string | undefined;
}

/**
 * `journalMismatch` would fail with RT0016 · `handlerMissing`, `protocolVersion` could not run there at all, nobody was asked · `failed`
 * for another reason, which may or may not be the code's · `unclear` a mismatch whose place the endpoint does not tell · `outputDiffers` a
 * completed one would end otherwise, which breaks nothing · `skipped` was not asked, `message` says why.
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
  /** Counts commands, Input being 0; undefined when the endpoint does not tell. */
  readonly commandIndex: number | undefined;
  /** What the journal has there. */
  readonly expected: CheckedCommand | undefined;
  /** What the code wanted instead. */
  readonly actual: CheckedCommand | undefined;
  readonly message: string;
  readonly stacktrace: string | undefined;
}

/** Counts are of invocations. */
export interface Verification {
  readonly checkedAtMs: number;
  readonly durationMs: number;
  /** With a journal, of the handlers in question; what was replayed is a sample of these when `isComplete` is false. */
  readonly found: number;
  /** Replayed. */
  readonly checked: number;
  readonly compatible: number;
  /** Would fail: replayed with a mismatch, or without a handler or a protocol version to go on with. */
  readonly incompatible: number;
  readonly failed: number;
  /** Chosen and not replayed. */
  readonly skipped: number;
  /** Every invocation in flight was found and asked about. */
  readonly isComplete: boolean;
  /** Those that would fail first. */
  readonly findings: readonly VerificationFinding[];
  readonly findingsLeftOut: number;
}
