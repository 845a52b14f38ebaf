/** Findings of a check of new code against existing journals, as JSON (docs/deploy-check.md). */
import type { VerificationShape } from "@perdure/admin-contract";
import { formatDuration, formatTimestampNanos } from "@perdure/base";
import type { FindingKind, Verification, VerificationFinding } from "@perdure/metadata";
import type { ViewOf } from "./response.js";

type FindingResponse = ViewOf<typeof VerificationShape>["findings"][number];

const KINDS: Readonly<Record<FindingKind, FindingResponse["kind"]>> = {
  journalMismatch: "journal_mismatch",
  handlerMissing: "handler_missing",
  protocolVersion: "protocol_version",
  failed: "failed",
  unclear: "unclear",
  outputDiffers: "output_differs",
  skipped: "skipped",
};

/** Fields that are `undefined` do not appear in JSON. */
export function verificationView(verification: Verification): ViewOf<typeof VerificationShape> {
  return {
    checked_at: formatTimestampNanos(verification.checkedAtMs),
    duration: formatDuration(verification.durationMs),
    found: verification.found,
    checked: verification.checked,
    compatible: verification.compatible,
    incompatible: verification.incompatible,
    failed: verification.failed,
    skipped: verification.skipped,
    is_complete: verification.isComplete,
    findings: verification.findings.map(findingView),
    findings_left_out: verification.findingsLeftOut,
  };
}

function findingView(finding: VerificationFinding): FindingResponse {
  return {
    kind: KINDS[finding.kind],
    service: finding.service,
    handler: finding.handler,
    invocations: finding.invocations,
    invocation_id: finding.invocationId,
    status: finding.status,
    deployment_id: finding.deploymentId,
    code: finding.code,
    command_index: finding.commandIndex,
    expected: finding.expected && { ...finding.expected },
    actual: finding.actual && { ...finding.actual },
    message: finding.message,
    stacktrace: finding.stacktrace,
  };
}
