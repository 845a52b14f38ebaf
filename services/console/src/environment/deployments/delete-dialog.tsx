/** A deployment is removed: freely when nothing needs it, and with what it takes along said and typed otherwise. */
import type { DeploymentView } from "@perdure/admin-client";
import { useLocation } from "wouter";
import { Confirmation, ProblemNote } from "../../kit/index.js";
import { useChange } from "../ask.js";
import { addressOf, type DeploymentState } from "./deployment-text.js";

export interface DeleteDialogProps {
  readonly deployment: DeploymentView;
  readonly state: DeploymentState;
  readonly inFlight: number;
  /** Services whose latest revision is here. */
  readonly current: readonly string[];
  readonly onClose: () => void;
}

export function DeleteDialog({ deployment, state, inFlight, current, onClose }: DeleteDialogProps) {
  const [, go] = useLocation();
  const isSafe = state === "drained";
  const remove = useChange(({ admin }) => admin.deployments.remove(deployment.id, !isSafe), {
    done: () => `${deployment.id} is removed`,
    onDone: () => go("/deployments"),
  });
  return (
    <Confirmation
      title="Remove this deployment"
      isOpen
      onClose={onClose}
      verb={isSafe ? "Remove it" : "Remove it all the same"}
      typed={isSafe ? undefined : deployment.id}
      isBusy={remove.isPending}
      problem={remove.isError ? <ProblemNote cause={remove.error} title="It was not removed." /> : undefined}
      onConfirm={() => remove.mutate()}
    >
      <p>
        <code>{addressOf(deployment)}</code> is forgotten. The code that answers there is not touched.
      </p>
      {isSafe && (
        <p>Nothing needs it: no invocation that began there is still going on, and newer revisions serve its services.</p>
      )}
      {inFlight > 0 && (
        <p>
          <strong>
            {inFlight.toLocaleString()} {inFlight === 1 ? "invocation that has" : "invocations that have"} begun there and not
            ended would be stranded:
          </strong>{" "}
          they cannot go on until they are resumed on another deployment, or killed.
        </p>
      )}
      {current.length > 0 && (
        <p>
          <strong>{current.join(", ")}</strong> would be called at an older revision then, or not at all where there is none.
        </p>
      )}
    </Confirmation>
  );
}
