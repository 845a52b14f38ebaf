/** The outcome of a deploy check: which invocations would fail on the code, and at which step. */
import type { VerificationView } from "@perdure/admin-client";
import { Link } from "wouter";
import { Badge, ErrorCode, Table, type TableColumn, type Tone } from "../../kit/index.js";

type VerificationFinding = VerificationView["findings"][number];

const KINDS: Readonly<Record<string, readonly [words: string, tone: Tone]>> = {
  journal_mismatch: ["would fail", "bad"],
  handler_missing: ["handler removed", "bad"],
  protocol_version: ["protocol unsupported", "bad"],
  failed: ["could not be verified", "warn"],
  unclear: ["unclear", "warn"],
  output_differs: ["different result", "idle"],
  skipped: ["skipped", "idle"],
};

const COLUMNS: readonly TableColumn<VerificationFinding>[] = [
  {
    name: "Result",
    cell: ({ kind }) => {
      const [label, tone] = KINDS[kind] ?? [kind, "warn"];
      return <Badge tone={tone}>{label}</Badge>;
    },
  },
  {
    name: "Handler",
    cell: ({ service, handler }) => (
      <code className="nowrap">
        {service}/{handler}
      </code>
    ),
  },
  { name: "Invocations", isNumber: true, cell: ({ invocations }) => invocations.toLocaleString() },
  {
    name: "Example",
    cell: ({ invocation_id: id }) => (
      <Link href={`/invocations/${encodeURIComponent(id)}`} className="code">
        {`${id.slice(0, 12)}…`}
      </Link>
    ),
  },
  {
    name: "Why",
    cell: (finding) => (
      <>
        {finding.code && <ErrorCode code={finding.code} />} {whyOf(finding)}
      </>
    ),
  },
];

function whyOf({ message, command_index: index, expected, actual }: VerificationFinding): string {
  if (index === undefined || index === null || !expected || !actual) return message;
  return `At step ${index} the journal has ${stepLabel(expected)}, the code has ${stepLabel(actual)}.`;
}

function stepLabel({ type, name }: { readonly type: string; readonly name?: string | null | undefined }): string {
  return name ? `${type} “${name}”` : type;
}

export function VerificationNote({ verification }: { readonly verification: VerificationView }) {
  const { checked, compatible, incompatible, failed, skipped, is_complete: isComplete, findings } = verification;
  return (
    <div className="stack stack--tight">
      <p>
        {incompatible > 0 ? (
          <strong>{incompatible} of the invocations that exist would fail on this code.</strong>
        ) : checked === 0 ? (
          "There was no journal to replay: no known incompatibility."
        ) : (
          <strong>All verified invocations are compatible.</strong>
        )}{" "}
        {checked > 0 && (
          <span className="quiet">
            {checked} journals were replayed, {compatible} fit
            {failed > 0 && `, ${failed} could not be verified`}
            {skipped > 0 && `, ${skipped} skipped`}. {isComplete ? "All invocations in flight were verified." : "It is a sample."}
          </span>
        )}
      </p>
      {findings.length > 0 && (
        <Table
          label="Compatibility"
          rows={findings}
          columns={COLUMNS}
          keyOf={({ kind, invocation_id: id, command_index: index }) => `${kind} ${id} ${index}`}
        />
      )}
      {verification.findings_left_out > 0 && <p className="quiet small">{verification.findings_left_out} more are not listed.</p>}
    </div>
  );
}
