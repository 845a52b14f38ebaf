/** The message after a change of one invocation, with a button that undoes it. */
import { useEffect } from "react";
import { Link, Router, useRouter } from "wouter";
import { Button, ProblemNote, ShortId, useNow, useToast } from "../../kit/index.js";
import { EnvironmentContext, useEnvironment } from "../environment.js";
import { isWhollyUndone, leftMs, leftText } from "./operation-text.js";
import { UndoOutcome } from "./undo-outcome.js";
import { useOperation, useUndo } from "./use-operation.js";

/** Returns a function that shows the message; `operation`: id of the change. The message outlives the page, until the time to undo is over. */
export function useUndoOffer(): (title: string, operation: string) => void {
  const environment = useEnvironment();
  const { base, aroundNav } = useRouter();
  const { offer } = useToast();
  return (title, operation) =>
    offer(title, (close) => (
      // Messages are outside of the environment and its addresses.
      <EnvironmentContext value={environment}>
        <Router base={base} aroundNav={aroundNav}>
          <UndoMessage key={operation} id={operation} onOver={close} />
        </Router>
      </EnvironmentContext>
    ));
}

function UndoMessage({ id, onOver }: { readonly id: string; readonly onOver: () => void }) {
  const { forbidden } = useEnvironment();
  const { data: operation, dataUpdatedAt } = useOperation(id);
  const undo = useUndo(id);
  const nowMs = useNow();
  const left = operation === undefined ? undefined : leftMs(operation, dataUpdatedAt, nowMs);
  const isOver = operation !== undefined && operation.undo === null && left === 0;
  const isClosing = (isOver && !undo.isError) || (operation !== undefined && isWhollyUndone(operation));
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function for each message, which closes the same one
  useEffect(() => {
    if (isClosing) onOver();
  }, [isClosing]);
  return (
    <div className="stack stack--tight">
      {operation !== undefined && operation.invocation_id !== null && <InvocationLink id={operation.invocation_id} />}
      {undo.isError && <ProblemNote cause={undo.error} title="The change was not undone." />}
      {operation !== undefined && <UndoOutcome operation={operation} />}
      {(operation === undefined || operation.undo === null) && !isOver && (
        <div className="row">
          <Button isSmall isBusy={undo.isPending} forbidden={forbidden} onClick={() => undo.mutate()}>
            Undo
          </Button>
          {left !== undefined && <span className="quiet">{leftText(left)} left</span>}
        </div>
      )}
    </div>
  );
}

/** Says which of several messages is for which change. Titles name other things than invocations. */
function InvocationLink({ id }: { readonly id: string }) {
  return (
    <p>
      <Link href={`/invocations/${encodeURIComponent(id)}`}>
        <ShortId id={id} />
      </Link>
    </p>
  );
}
