/** How far an undo is, and what it could not revert. */
import type { OperationView } from "@perdure/admin-client";
import { Link } from "wouter";
import { useRequest } from "../request.js";
import { UNDOING_MS } from "./limits.js";
import { outcomeText } from "./operation-text.js";
import "./operations.css";

/** Nothing as long as no undo has begun. */
export function UndoOutcome({ operation }: { readonly operation: OperationView }) {
  const { state, subject, undo } = operation;
  if (undo === null) return null;
  const { batch_id: batchId, cannot_be_undone: notes } = undo;
  return (
    <div className="stack stack--tight">
      {state === "undoing" && batchId !== null ? (
        <UndoProgress batchId={batchId} />
      ) : (
        <p role="status">
          <strong>{outcomeText(undo, operation)}.</strong>
        </p>
      )}
      {notes.length > 0 && (
        <div>
          {subject === null && <p>This cannot be undone:</p>}
          <ul className="undo-notes">
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </div>
      )}
      {batchId !== null && (
        <p>
          <Link href={`/invocations?batches=${encodeURIComponent(batchId)}`}>Result of each invocation</Link>
        </p>
      )}
    </div>
  );
}

function UndoProgress({ batchId }: { readonly batchId: string }) {
  const batch = useRequest(["batches", batchId], ({ admin }, signal) => admin.batches.get(batchId, { signal }), {
    everyMs: UNDOING_MS,
  });
  const { done = 0, matched } = batch.data ?? {};
  const many = (count: number) => count.toLocaleString("en");
  return (
    <>
      <p role="status">{matched === undefined ? "Undoing …" : `Undoing: ${many(done)} of ${many(matched)} …`}</p>
      <progress className="undo-progress" aria-label="Undone" value={done} max={Math.max(1, matched ?? 1)} />
    </>
  );
}
