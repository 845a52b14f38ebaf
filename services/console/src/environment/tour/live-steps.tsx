/** The steps of one invocation as they come: which were done before the crash, and so are not done again. */
import { Badge, Duration, type Tone } from "../../kit/index.js";
import { type Crash, fateOf } from "../invocation/crash-story.js";
import type { Life, StepSpan } from "../invocation/life.js";

export interface LiveStepsProps {
  readonly life: Life;
  /** What is known of the moment when it was cut off. */
  readonly cut: Crash | undefined;
}

/** The tour is about the first of them; the timeline has all. */
const SHOWN_MAX = 30;

export function LiveSteps({ life, cut }: LiveStepsProps) {
  const steps = life.steps.filter(({ view }) => view.type !== "Input" && view.type !== "Output");
  return (
    <div className="tour__live">
      <p className="row row--spread">
        <code>{life.target}</code>
        <span className="quiet small">{life.isDone ? "done" : attemptText(life)}</span>
      </p>
      <ol className="tour__steps" aria-label="Steps so far">
        {steps.slice(0, SHOWN_MAX).map((step) => (
          <LiveStep key={step.index} life={life} step={step} cut={cut} />
        ))}
        {!life.isDone && life.attempts.at(-1)?.isRunning && (
          <li className="quiet">
            <span className="tour__pulse" aria-hidden="true" /> the next step …
          </li>
        )}
      </ol>
    </div>
  );
}

function attemptText({ attempts, status }: Life): string {
  const last = attempts.at(-1);
  return last?.isRunning ? `attempt ${last.number} running` : status.replaceAll("_", " ");
}

function LiveStep({ life, step, cut }: LiveStepsProps & { readonly step: StepSpan }) {
  const [tone, word] = stateOf(step, cut, life);
  return (
    <li className="row row--spread">
      <span>
        {step.view.name || step.view.type}{" "}
        <span className="quiet small">
          {step.result === "pending" ? null : <Duration ms={Math.round(step.toMs - step.fromMs)} />}
        </span>
      </span>
      <Badge tone={tone}>{word}</Badge>
    </li>
  );
}

function stateOf(step: StepSpan, cut: Crash | undefined, life: Life): readonly [Tone, string] {
  if (step.result === "failure") return ["bad", "failed"];
  if (step.result === "pending") return ["info", "running"];
  if (cut === undefined) return ["good", "done"];
  const fate = fateOf(step, cut, life);
  if (fate === undefined) return ["good", "done after the crash"];
  return fate === "replayed" ? ["good", "replayed, not run again"] : ["warn", "interrupted, run again"];
}
