/** Details of the selected step: times, input, output, the called handler, and a restart from this step. */
import type { ReactNode } from "react";
import { Link } from "wouter";
import { Button, durationText, Facts, Moment } from "../../kit/index.js";
import { useEnvironment } from "../environment.js";
import { useForkPlace } from "../fork/fork-address.js";
import type { InvocationActions } from "./actions.js";
import { attemptOf } from "./attempts.js";
import { FailureView } from "./failure-view.js";
import { type InvocationTimeline, lengthOf, resultLabel, stepKind, stepName, type TimelineStep } from "./invocation-timeline.js";
import { StepValue } from "./value-view.js";

interface StepDetailsProps {
  readonly timeline: InvocationTimeline;
  readonly step: TimelineStep;
  readonly actions: InvocationActions;
  readonly onClose: () => void;
}

export function StepDetails({ timeline, step, actions, onClose }: StepDetailsProps) {
  const { view, index, result } = step;
  const name = stepName(view);
  const facts: (readonly [string, ReactNode])[] = [
    ["Result", resultLabel(result)],
    ["Started", <Moment key="began" at={view.from} />],
    ["Duration", result === "pending" ? `${durationText(lengthOf(step))} so far` : durationText(lengthOf(step))],
    ["Offset", durationText(step.fromMs - timeline.span.fromMs)],
    ["Entry", String(index)],
  ];
  const attempt = attemptOf(step, timeline);
  if (attempt !== undefined) facts.push(["Attempt", String(attempt)]);
  if (view.name !== "" && view.subject !== "") facts.push(["Subject", view.subject]);
  if (view.invocation_id !== null) {
    facts.push([
      "Called",
      <Link key="called" href={`/invocations/${encodeURIComponent(view.invocation_id)}`}>
        {view.subject === "" ? view.invocation_id : view.subject}
      </Link>,
    ]);
  }
  return (
    <section className="card stack" aria-label={`Step ${index}`}>
      <div className="row row--spread">
        <h3>
          {stepKind(view.type)} {name}
        </h3>
        <div className="row">
          <ForkFrom step={step} />
          <RestartFrom step={step} actions={actions} />
          <Button isSmall appearance="bare" onClick={onClose}>
            Close
          </Button>
        </div>
      </div>
      <Facts facts={facts} />
      {view.failure !== null && <FailureView message={`${view.failure.code}: ${view.failure.message}`} />}
      <StepValues id={timeline.id} step={step} />
    </section>
  );
}

/** The whole input and output. */
export function StepValues({ id, step }: { readonly id: string; readonly step: TimelineStep }) {
  const { view, index, result } = step;
  const hasResult = view.result_bytes !== null && result === "success";
  if (view.bytes === null && !hasResult) return null;
  return (
    <div className="inv-values">
      {view.bytes !== null && (
        <div>
          <h4>{view.type === "Output" ? "Result" : "Argument"}</h4>
          <StepValue id={id} index={index} of="argument" label={`the value of entry ${index}`} bytes={view.bytes} />
        </div>
      )}
      {hasResult && (
        <div>
          <h4>Result</h4>
          <StepValue
            id={id}
            index={index}
            of="result"
            label={`the result of entry ${index}`}
            bytes={view.result_bytes ?? undefined}
            signature={result}
          />
        </div>
      )}
    </div>
  );
}

function ForkFrom({ step: { index, view } }: { readonly step: TimelineStep }) {
  const { forbidden } = useEnvironment();
  const { open } = useForkPlace();
  return (
    <Button
      isSmall
      forbidden={forbidden ?? (view.type === "Output" ? "The output is the last entry." : undefined)}
      aria-label={`Fork from here … after entry ${index}`}
      onClick={() => open(index)}
    >
      Fork from here …
    </Button>
  );
}

export function RestartFrom({ step, actions }: { readonly step: TimelineStep; readonly actions: InvocationActions }) {
  const { type } = step.view;
  // The kept part includes this entry: with the output there would be nothing left to run.
  const forbidden =
    actions.forbidden("restart-as-new") ??
    (type === "Output"
      ? "The output is the last entry."
      : type === "Signal"
        ? "A signal is not a step of the handler."
        : undefined);
  return (
    <Button
      isSmall
      forbidden={forbidden}
      aria-label={`Restart from here … after entry ${step.index}`}
      onClick={() => actions.run("restart-as-new", undefined, step.index)}
    >
      Restart from here …
    </Button>
  );
}
