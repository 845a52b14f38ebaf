/** The steps of one invocation as they come: which were done before the crash, and so are not done again. */
import { Badge, Duration, type Tone } from "../../kit/index.js";
import { type Crash, fateOf } from "../invocation/crash-status.js";
import type { InvocationTimeline, TimelineStep } from "../invocation/invocation-timeline.js";

interface LiveStepsProps {
  readonly timeline: InvocationTimeline;
  /** Record of the moment at which the attempt was cut off. */
  readonly cut: Crash | undefined;
}

/** The tour is about the first of them; the timeline has all. */
const SHOWN_MAX = 30;

export function LiveSteps({ timeline, cut }: LiveStepsProps) {
  const steps = timeline.steps.filter(({ view }) => view.type !== "Input" && view.type !== "Output");
  return (
    <div className="tour__live">
      <p className="row row--spread">
        <code>{timeline.target}</code>
        <span className="quiet small">{timeline.isDone ? "done" : attemptText(timeline)}</span>
      </p>
      <ol className="tour__steps" aria-label="Steps so far">
        {steps.slice(0, SHOWN_MAX).map((step) => (
          <LiveStep key={step.index} timeline={timeline} step={step} cut={cut} />
        ))}
        {!timeline.isDone && timeline.attempts.at(-1)?.isRunning && (
          <li className="quiet">
            <span className="tour__pulse" aria-hidden="true" /> the next step …
          </li>
        )}
      </ol>
    </div>
  );
}

function attemptText({ attempts, status }: InvocationTimeline): string {
  const last = attempts.at(-1);
  return last?.isRunning ? `attempt ${last.number} running` : status.replaceAll("_", " ");
}

function LiveStep({ timeline, step, cut }: LiveStepsProps & { readonly step: TimelineStep }) {
  const [tone, label] = stateOf(step, cut, timeline);
  return (
    <li className="row row--spread">
      <span>
        {step.view.name || step.view.type}{" "}
        <span className="quiet small">
          {step.result === "pending" ? null : <Duration ms={Math.round(step.toMs - step.fromMs)} />}
        </span>
      </span>
      <Badge tone={tone}>{label}</Badge>
    </li>
  );
}

function stateOf(step: TimelineStep, cut: Crash | undefined, timeline: InvocationTimeline): readonly [Tone, string] {
  if (step.result === "failure") return ["bad", "failed"];
  if (step.result === "pending") return ["info", "running"];
  if (cut === undefined) return ["good", "done"];
  const fate = fateOf(step, cut, timeline);
  if (fate === undefined) return ["good", "done after the crash"];
  return fate === "replayed" ? ["good", "replayed, not run again"] : ["warn", "interrupted, run again"];
}
