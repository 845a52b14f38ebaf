/** Restarts a completed invocation as a new one, from its beginning or from a step; the dialog shows what is kept. */
import { useState } from "react";
import { Button, ChoiceField, Dialog, DialogActions, ProblemNote, TextField } from "../../kit/index.js";
import { useChange } from "../request.js";
import { DeploymentChoice } from "./deployment-choice.js";
import { useTimeline } from "./invocation-data.js";
import { SEARCHED_STEPS_MIN, STEP_PAGES_MAX } from "./limits.js";
import { keepable, keptText, restartChoices } from "./restart-choices.js";

export const RESTARTED = "Restarted as a new invocation";

interface RestartDialogProps {
  readonly id: string;
  readonly target: string;
  /** The last journal entry that the copy keeps; 0: the input only. */
  readonly from: number;
  readonly onClose: () => void;
  /** `operation`: undefined when the restart cannot be undone. */
  readonly onRestarted: (copy: string, operation: string | undefined) => void;
}

export function RestartDialog({ id, target, from: chosen, onClose, onRestarted }: RestartDialogProps) {
  const [from, setFrom] = useState(chosen);
  const [deployment, setDeployment] = useState("latest");
  const [search, setSearch] = useState("");
  const { data: timeline } = useTimeline(id, STEP_PAGES_MAX);
  const { choices, remark } = restartChoices(timeline, from, search);
  const restart = useChange(({ admin }) => admin.invocations.restart(id, { from, deployment }), {
    done: ({ operation }) => (operation === undefined ? RESTARTED : undefined),
    onDone: ({ copy, operation }) => onRestarted(copy, operation),
  });
  return (
    <Dialog title={`Restart ${target} as a new invocation`} isOpen onClose={onClose}>
      <div className="stack">
        {keepable(timeline).length >= SEARCHED_STEPS_MIN && (
          <TextField
            label="Search steps"
            type="search"
            hint="A part of the kind or the name, such as charge"
            value={search}
            onChange={setSearch}
            spellCheck={false}
            autoComplete="off"
          />
        )}
        <ChoiceField
          label="Start from"
          value={String(from)}
          choices={choices}
          hint={remark}
          onChange={(value) => setFrom(Number(value))}
        />
        <p className="small" aria-live="polite">
          {keptText(timeline, from)}
        </p>
        <DeploymentChoice value={deployment} onChange={setDeployment} keepLabel="The deployment of this invocation" />
        {restart.isError && <ProblemNote cause={restart.error} title="The invocation was not restarted." />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button appearance="primary" isBusy={restart.isPending} onClick={() => restart.mutate()}>
            Restart as new
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
