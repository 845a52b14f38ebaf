/** Resumes an invocation that is paused or waits for a retry, optionally on another deployment. */
import { useState } from "react";
import { Button, Dialog, DialogActions } from "../../kit/index.js";
import { whyNotMove } from "./action-rules.js";
import { DeploymentChoice } from "./deployment-choice.js";

interface ResumeDialogProps {
  readonly id: string;
  readonly status: string;
  readonly isBusy: boolean;
  readonly onClose: () => void;
  readonly onResume: (deployment: string) => void;
}

export function ResumeDialog({ id, status, isBusy, onClose, onResume }: ResumeDialogProps) {
  const [deployment, setDeployment] = useState("keep");
  const forbidden = deployment === "keep" ? undefined : whyNotMove(status);
  return (
    <Dialog title="Resume" isOpen onClose={onClose}>
      <div className="stack">
        <p>
          <code>{id}</code> resumes at once, with all its attempts. Completed steps are replayed from the journal, not run again.
        </p>
        <DeploymentChoice value={deployment} onChange={setDeployment} keepLabel="Current deployment" />
        {deployment !== "keep" && (
          <p className="small quiet">
            The code of the deployment must have the same steps up to this point, or the invocation fails with RT0016.
          </p>
        )}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button appearance="primary" isBusy={isBusy} forbidden={forbidden} onClick={() => onResume(deployment)}>
            Resume
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
