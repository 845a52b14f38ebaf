/** Why: an invocation that stands still goes on, perhaps with repaired code. */
import { useState } from "react";
import { Button, Dialog, DialogActions } from "../../kit/index.js";
import { whyNotMove } from "./action-rules.js";
import { DeploymentChoice } from "./deployment-choice.js";

export interface ResumeDialogProps {
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
          <code>{id}</code> goes on at once, with all its attempts. What its journal holds is replayed, not run again.
        </p>
        <DeploymentChoice value={deployment} onChange={setDeployment} keepLabel="Where it is" />
        {deployment !== "keep" && (
          <p className="small quiet">The code there must make the same steps up to where it stopped, or it fails with RT0016.</p>
        )}
        <DialogActions>
          <Button onClick={onClose}>Leave it</Button>
          <Button look="primary" isBusy={isBusy} forbidden={forbidden} onClick={() => onResume(deployment)}>
            Resume
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
