/** The outcome of a deploy check in lines: first the numbers, then which invocations failed and why. Pure. */
import type { VerificationView } from "@perdure/admin-client";

export function verificationLines(verification: VerificationView): readonly string[] {
  const {
    found: candidateCount,
    checked,
    compatible,
    incompatible,
    failed,
    skipped,
    is_complete,
    duration,
    findings,
    findings_left_out,
  } = verification;
  const summary = incompatible > 0 ? `${incompatible} would fail` : checked === 0 ? "nothing to check" : "all can continue";
  const rest = [failed > 0 ? `${failed} unclear` : "", skipped > 0 ? `${skipped} left out` : ""].filter(Boolean);
  const sample = is_complete ? "" : `, a sample of ${candidateCount}`;
  const head = `Check: ${summary} (${[`${compatible} of ${checked} compatible`, ...rest].join(", ")}${sample}; took ${duration})`;
  const lines = findings.map((finding) => {
    const where =
      finding.command_index === undefined || finding.command_index === null ? "" : ` at command ${finding.command_index}`;
    const code = finding.code === undefined || finding.code === null ? "" : ` ${finding.code}`;
    return `  ${finding.kind}${code}: ${finding.service}/${finding.handler}, ${finding.invocations}× (${finding.invocation_id}${where}): ${finding.message.split("\n", 1)[0]}`;
  });
  return [head, ...lines, ...(findings_left_out > 0 ? [`  … and ${findings_left_out} more kinds of findings`] : [])];
}
