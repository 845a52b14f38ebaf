/** The undo on the page of a batch: offered while it is possible, then its progress and outcome. */
import type { BatchView, OperationView } from "@perdure/admin-client";
import { useState } from "react";
import { Link } from "wouter";
import { Button, ProblemNote, useNow } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { hasUndo, leftMs, leftText } from "./operation-text.js";
import { UndoDialog } from "./undo-dialog.js";
import { UndoOutcome } from "./undo-outcome.js";
import { isUnlisted, useOperation } from "./use-operation.js";

export function BatchUndo({ batch }: { readonly batch: BatchView }) {
  const id = batch.operation_id;
  if (id === undefined) return null;
  if (batch.operation === "undo") {
    return (
      <p>
        This batch undoes <Link href={`/operations?show=${encodeURIComponent(id)}`}>an operation</Link>.
      </p>
    );
  }
  return hasUndo(batch) ? <OfferedUndo id={id} /> : null;
}

function OfferedUndo({ id }: { readonly id: string }) {
  const { data: operation, dataUpdatedAt, error, refetch } = useOperation(id);
  const [isConfirming, setConfirming] = useState(false);
  if (operation === undefined) {
    if (error === null) return null;
    if (isUnlisted(error)) return <p className="quiet">The time to undo this batch is over.</p>;
    return <ProblemNote cause={error} title="Could not read whether the batch can be undone." onRetry={() => void refetch()} />;
  }
  return (
    <section className="card stack stack--tight" aria-label="Undo">
      {operation.undo === null ? (
        <UndoLine operation={operation} receivedAtMs={dataUpdatedAt} onUndo={() => setConfirming(true)} />
      ) : (
        <UndoOutcome operation={operation} />
      )}
      {isConfirming && <UndoDialog id={id} onClose={() => setConfirming(false)} />}
    </section>
  );
}

interface UndoLineProps {
  readonly operation: OperationView;
  readonly receivedAtMs: number;
  readonly onUndo: () => void;
}

function UndoLine({ operation, receivedAtMs, onUndo }: UndoLineProps) {
  const { forbidden } = useEnvironment();
  const left = leftMs(operation, receivedAtMs, useNow());
  if (left === 0) return <p>The time to undo this batch is over.</p>;
  return (
    <div className="row row--spread">
      <span>This batch can be undone for {leftText(left)}.</span>
      <Button forbidden={forbidden} onClick={onUndo}>
        Undo …
      </Button>
    </div>
  );
}
