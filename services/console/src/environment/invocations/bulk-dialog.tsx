/** Shows how many and which invocations a batch operation changes, and requires a confirmation. Nothing happens until then. */
import type { DryRunView } from "@perdure/admin-client";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { Breakable, ChoiceField, Confirmation, Loading, ProblemNote, shortId, TextField } from "../../kit/index.js";
import { useChange, useRequest } from "../request.js";
import { BATCH_MAX } from "./limits.js";
import type { ListSelection } from "./selection.js";
import { type BulkVerb, targetOfBatch, typedFor } from "./verbs.js";

const DEPLOYMENTS = [
  { value: "keep", label: "Current deployment" },
  { value: "latest", label: "The latest deployment" },
] as const;
type Deployment = (typeof DEPLOYMENTS)[number]["value"];

interface BulkDialogProps {
  readonly verb: BulkVerb;
  readonly selection: ListSelection;
  readonly condition: string | undefined;
  readonly onClose: () => void;
}

export function BulkDialog({ verb, selection, condition, onClose }: BulkDialogProps) {
  const [, go] = useLocation();
  const [deployment, setDeployment] = useState<Deployment>(verb.verb === "resume" ? "keep" : "latest");
  const [reason, setReason] = useState("");
  const [target] = useState(() => targetOfBatch(selection, condition, verb));
  const preview = useRequest(["batch", "preview", verb.verb, target], ({ admin }, signal) =>
    admin.batches.preview({ operation: verb.verb, ...target }, { signal }),
  );
  const begin = useChange(
    ({ admin }) =>
      admin.batches.begin({
        operation: verb.verb,
        ...target,
        deployment: verb.isMoving ? deployment : undefined,
        reason: reason.trim() || undefined,
      }),
    { onDone: ({ id }) => go(`/invocations?batches=${id}`) },
  );
  const matched = preview.data?.matched;
  const title = matched === undefined ? `${verb.label} invocations` : `${verb.label} ${countOf(matched)}`;
  return (
    <Confirmation
      title={title}
      isOpen
      onClose={onClose}
      verb={matched === undefined || matched === 0 ? verb.label : `${verb.label} ${countOf(matched)}`}
      typed={matched === undefined ? undefined : typedFor(verb, matched)}
      isDanger={verb.isDanger}
      isBusy={begin.isPending || matched === undefined || matched === 0}
      problem={begin.isError ? <ProblemNote cause={begin.error} title="The batch was not started." /> : undefined}
      onConfirm={() => begin.mutate()}
    >
      {preview.isError ? (
        <ProblemNote cause={preview.error} onRetry={() => void preview.refetch()} />
      ) : preview.data === undefined ? (
        <Loading what="Counting invocations" />
      ) : (
        <PreviewSummary preview={preview.data} verb={verb} isByCondition={target.filter !== undefined} />
      )}
      {verb.isMoving && <ChoiceField label="Resume on" value={deployment} choices={DEPLOYMENTS} onChange={setDeployment} />}
      <TextField label="Reason" hint="Stored with the batch; optional" value={reason} onChange={setReason} maxLength={500} />
    </Confirmation>
  );
}

function PreviewSummary({
  preview: { matched, more_matched: more, sample },
  verb,
  isByCondition,
}: {
  readonly preview: DryRunView;
  readonly verb: BulkVerb;
  readonly isByCondition: boolean;
}) {
  if (matched === 0)
    return (
      <p>
        None can be {verb.done}: this applies to {verb.which}.
      </p>
    );
  return (
    <>
      <p>{verb.effect}</p>
      <p className="small">
        {isByCondition ? `Applies to ${verb.which} only: ` : `Applies to ${verb.which}; others are refused. `}
        <strong>{countOf(matched)}</strong>
        {more && `, the oldest; a batch takes at most ${BATCH_MAX.toLocaleString("en")}`}.
        {matched > sample.length ? " Examples:" : " These:"}
      </p>
      <ul className="runs-list small">
        {sample.slice(0, 8).map(({ id, target, status }) => (
          <li key={id}>
            <Link href={`/invocations/${encodeURIComponent(id)}`} title={id}>
              {typeof target === "string" && (
                <>
                  <Breakable text={target} />{" "}
                </>
              )}
              <code>{shortId(id)}</code>
            </Link>{" "}
            <span className="quiet">{typeof status === "string" ? status : ""}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function countOf(count: number): string {
  return count === 1 ? "1 invocation" : `${count.toLocaleString("en")} invocations`;
}
