/** Restarts a completed invocation as a new one, from its beginning or from a step; the dialog shows what is kept. */
import { useState } from "react";
import { Button, ChoiceField, Dialog, DialogActions, ProblemNote } from "../../kit/index.js";
import { useChange } from "../request.js";
import { DeploymentChoice } from "./deployment-choice.js";
import { useTimeline } from "./invocation-data.js";
import { type InvocationTimeline, stepKind, stepName, type TimelineStep } from "./invocation-timeline.js";
import { JOURNAL_ROWS_MAX } from "./limits.js";

interface RestartDialogProps {
  readonly id: string;
  readonly target: string;
  /** The last journal entry that the copy keeps; 0: the input only. */
  readonly from: number;
  readonly onClose: () => void;
  readonly onRestarted: (copy: string) => void;
}

export function RestartDialog({ id, target, from: chosen, onClose, onRestarted }: RestartDialogProps) {
  const [from, setFrom] = useState(chosen);
  const [deployment, setDeployment] = useState("latest");
  const { data: timeline } = useTimeline(id);
  const restart = useChange(({ admin }) => admin.invocations.restart(id, { from, deployment }), {
    done: () => "Restarted as a new invocation",
    onDone: onRestarted,
  });
  return (
    <Dialog title={`Restart ${target} as a new invocation`} isOpen onClose={onClose}>
      <div className="stack">
        <ChoiceField
          label="Start from"
          value={String(from)}
          choices={choicesOf(timeline, from)}
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

/** The input, and the first steps; one that was chosen on another page is added. */
function choicesOf(timeline: InvocationTimeline | undefined, from: number) {
  const steps = keepable(timeline).filter((step, order) => order < JOURNAL_ROWS_MAX || step.index === from);
  const choices = [
    { value: "0", label: "From the beginning" },
    ...steps.map((step) => ({ value: String(step.index), label: labelOf(step) })),
  ];
  return choices.some(({ value }) => value === String(from))
    ? choices
    : [...choices, { value: String(from), label: `After entry ${from}` }];
}

function labelOf({ index, view }: TimelineStep): string {
  const name = stepName(view);
  return `After ${index}: ${stepKind(view.type)}${name === "" ? "" : ` ${name}`}`;
}

/** An output that is kept leaves nothing to do. */
function keepable(timeline: InvocationTimeline | undefined): readonly TimelineStep[] {
  return (timeline?.steps ?? []).filter(({ view, index }) => index > 0 && view.type !== "Output" && view.type !== "Signal");
}

function keptText(timeline: InvocationTimeline | undefined, from: number): string {
  if (from === 0) return "The new invocation gets the same input and runs every step again. This invocation stays unchanged.";
  const kept = keepable(timeline).filter(({ index }) => index <= from).length;
  const steps = kept === 1 ? "1 step" : `${kept} steps`;
  return `The new invocation keeps the input and the first ${steps} with their results; all later steps run again. This invocation stays unchanged.`;
}
