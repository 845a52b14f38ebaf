/** Confirms an undo, and shows how far it is and its outcome. Closing it does not stop an undo. */
import type { OperationView } from "@perdure/admin-client";
import { Button, Dialog, DialogActions, Loading, ProblemNote, useNow } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { leftMs, leftText, operationTitle, undoEffect } from "./operation-text.js";
import { UndoOutcome } from "./undo-outcome.js";
import { isUnlisted, useOperation, useUndo } from "./use-operation.js";

interface UndoDialogProps {
  readonly id: string;
  readonly onClose: () => void;
}

export function UndoDialog({ id, onClose }: UndoDialogProps) {
  const { forbidden } = useEnvironment();
  const query = useOperation(id);
  const undo = useUndo(id);
  const operation = query.data;
  const isOpen = operation?.state === "undoable";
  return (
    <Dialog title={operation === undefined ? "Undo" : `Undo ${operationTitle(operation)}`} isOpen onClose={onClose}>
      <div className="stack">
        {operation !== undefined ? (
          <Contents operation={operation} receivedAtMs={query.dataUpdatedAt} />
        ) : isUnlisted(query.error) ? (
          <p>The operation is no longer listed: the time to undo it is over.</p>
        ) : query.isError ? (
          <ProblemNote cause={query.error} onRetry={() => void query.refetch()} />
        ) : (
          <Loading what="Loading the operation" />
        )}
        {undo.isError && <ProblemNote cause={undo.error} title="The operation was not undone." />}
        <DialogActions>
          {isOpen && <Button onClick={onClose}>Cancel</Button>}
          {/* One button for both, so that it keeps the focus. */}
          <Button
            appearance={isOpen ? "primary" : "quiet"}
            isBusy={undo.isPending}
            forbidden={isOpen ? forbidden : undefined}
            onClick={() => (isOpen ? undo.mutate() : onClose())}
          >
            {isOpen ? "Undo" : "Close"}
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}

function Contents({ operation, receivedAtMs }: { readonly operation: OperationView; readonly receivedAtMs: number }) {
  const nowMs = useNow();
  if (operation.undo !== null) return <UndoOutcome operation={operation} />;
  if (operation.state !== "undoable") return <p>The time to undo it is over.</p>;
  return (
    <>
      <p>{undoEffect(operation.operation, operation.batch_id !== null)}</p>
      <p className="small quiet">Time left: {leftText(leftMs(operation, receivedAtMs, nowMs))}</p>
    </>
  );
}
