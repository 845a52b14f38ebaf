/**
 * Builds the report of a check, which users read and which is stored with the deployment: worst first, one line for many equal findings,
 * bounded in length.
 */
import type { ErrorCode } from "@perdure/base";
import type { ReplayResult } from "@perdure/invoker";
import type { FindingKind, Verification, VerificationFinding } from "@perdure/metadata";
import type { AttemptError } from "@perdure/state-machine";
import type { ChosenInvocation } from "./check-selection.js";
import { FINDING_MESSAGE_CHARS_MAX, FINDING_STACK_CHARS_MAX, FINDINGS_MAX } from "./limits.js";

/** Display order of findings. */
const KINDS: readonly FindingKind[] = [
  "journalMismatch",
  "handlerMissing",
  "protocolVersion",
  "failed",
  "unclear",
  "outputDiffers",
  "skipped",
];

type Details = Partial<Pick<VerificationFinding, "code" | "commandIndex" | "expected" | "actual" | "stacktrace">>;

export class CheckFindings {
  readonly #all = new Map<string, VerificationFinding>();
  #compatible = 0;
  #mismatched = 0;
  #failed = 0;
  #unclear = 0;
  #impossible = 0;
  #skipped = 0;

  replayed(chosen: ChosenInvocation, result: ReplayResult): void {
    switch (result.kind) {
      case "compatible":
        this.#compatible++;
        if (result.output === "differs")
          this.#note("outputDiffers", chosen, "the new code gives another output than the one stored");
        return;
      case "mismatch": {
        const { error, commandIndex, expected, actual } = result;
        this.#mismatched++;
        return this.#note("journalMismatch", chosen, error.message, { ...detailsOf(error), commandIndex, expected, actual });
      }
      case "failed":
        this.#failed++;
        return this.#note("failed", chosen, result.error.message, detailsOf(result.error));
      case "unclear":
        this.#unclear++;
        return this.#note("unclear", chosen, result.error.message, detailsOf(result.error));
    }
  }

  /** The endpoint was not requested, and the invocation could not continue there. */
  add(kind: "handlerMissing" | "protocolVersion", chosen: ChosenInvocation, message: string): void {
    this.#impossible++;
    this.#note(kind, chosen, message);
  }

  skip(chosen: ChosenInvocation, message: string): void {
    this.#skipped++;
    this.#note("skipped", chosen, message);
  }

  verification(given: Pick<Verification, "checkedAtMs" | "durationMs" | "found" | "isComplete">): Verification {
    const sorted = [...this.#all.values()].sort(byKindAndPlace);
    return {
      ...given,
      checked: this.#compatible + this.#mismatched + this.#failed + this.#unclear,
      compatible: this.#compatible,
      incompatible: this.#mismatched + this.#impossible,
      failed: this.#failed,
      skipped: this.#skipped,
      findings: sorted.slice(0, FINDINGS_MAX),
      findingsLeftOut: Math.max(0, sorted.length - FINDINGS_MAX),
    };
  }

  /** Mismatches at one place of one handler are one finding, and so are other results with the same text. */
  #note(kind: FindingKind, { facts, status, pinned }: ChosenInvocation, message: string, details: Details = {}): void {
    const { service, handler } = facts.target;
    const place = kind === "journalMismatch" ? JSON.stringify([details.commandIndex, details.expected, details.actual]) : message;
    const key = JSON.stringify([kind, service, handler, place]);
    const existing = this.#all.get(key);
    if (existing !== undefined) {
      this.#all.set(key, { ...existing, invocations: existing.invocations + 1 });
      return;
    }
    this.#all.set(key, {
      kind,
      service,
      handler,
      invocations: 1,
      invocationId: facts.id,
      status,
      deploymentId: pinned.deploymentId,
      code: details.code,
      commandIndex: details.commandIndex,
      expected: details.expected,
      actual: details.actual,
      message: message.slice(0, FINDING_MESSAGE_CHARS_MAX),
      stacktrace: details.stacktrace?.slice(0, FINDING_STACK_CHARS_MAX),
    });
  }
}

/** Replays end in any order; the report of the same code is the same each time. */
function byKindAndPlace(a: VerificationFinding, b: VerificationFinding): number {
  return (
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
    compareTexts(a.service, b.service) ||
    compareTexts(a.handler, b.handler) ||
    (a.commandIndex ?? -1) - (b.commandIndex ?? -1) ||
    compareTexts(a.message, b.message)
  );
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function detailsOf({ errorCode, stacktrace }: AttemptError): Details {
  return { code: errorCode as ErrorCode, stacktrace };
}
