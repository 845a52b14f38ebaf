/** Deletes a deployment: at once when nothing needs it; otherwise the dialog lists what is lost, and the user types its id. */
import type { DeploymentDetail } from "@perdure/admin-client";
import { useLocation } from "wouter";
import { Confirmation, ProblemNote } from "../../kit/index.js";
import { useDeletion } from "../operations/use-deletion.js";
import { addressOf, type DeploymentState } from "./deployment-text.js";

interface DeleteDeploymentDialogProps {
  readonly deployment: DeploymentDetail;
  readonly state: DeploymentState;
  readonly inFlight: number;
  /** Services whose latest revision is here. */
  readonly current: readonly string[];
  readonly onClose: () => void;
}

export function DeleteDialog({ deployment, state, inFlight, current, onClose }: DeleteDeploymentDialogProps) {
  const [, go] = useLocation();
  const isSafe = state === "drained";
  const remove = useDeletion(({ admin }) => admin.deployments.remove(deployment.id, !isSafe), {
    done: () => `${deployment.id} is removed`,
    onDone: () => go("/deployments"),
  });
  return (
    <Confirmation
      title="Remove deployment"
      isOpen
      onClose={onClose}
      verb={isSafe ? "Remove" : "Remove anyway"}
      typed={isSafe ? undefined : deployment.id}
      isBusy={remove.isPending}
      problem={remove.isError ? <ProblemNote cause={remove.error} title="The deployment was not removed." /> : undefined}
      onConfirm={() => remove.mutate()}
    >
      <p>
        <code>{addressOf(deployment)}</code> is removed from the registry. The endpoint itself is not touched.
      </p>
      {isSafe && <p>It is not in use: it has no invocations in flight, and newer revisions serve its services.</p>}
      {inFlight > 0 && (
        <p>
          <strong>
            {inFlight.toLocaleString()} {inFlight === 1 ? "invocation in flight" : "invocations in flight"} on it would be
            stranded:
          </strong>{" "}
          they cannot continue until they are resumed on another deployment, or killed.
        </p>
      )}
      {current.length > 0 && (
        <p>
          <strong>{current.join(", ")}</strong> would be served by an older revision, or not at all when there is none.
        </p>
      )}
    </Confirmation>
  );
}
