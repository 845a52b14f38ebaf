/** Search of a timeline with thousands of steps: by name, for the first failure, or the latest step. */
import { useState } from "react";
import { Button, CheckField, ChoiceField, TextField } from "../../kit/index.js";
import { stepCounts } from "./attempts.js";
import type { InvocationTimeline } from "./invocation-timeline.js";
import { CHOSEN_ATTEMPTS_MAX, SEARCHED_STEPS_MIN, STEP_PAGES_MAX } from "./limits.js";
import { groupedSteps } from "./step-groups.js";

/** Display options of the steps of a timeline. */
interface StepViewOptions {
  readonly search: string;
  readonly isGrouped: boolean;
  /** Attempt that must have begun the shown steps; undefined: all steps. */
  readonly attempt: number | undefined;
  readonly jump: { readonly key: string } | undefined;
}

interface StepTools extends StepViewOptions {
  readonly set: (changes: Partial<StepViewOptions>) => void;
}

export function useStepTools(): StepTools {
  const [view, setView] = useState<StepViewOptions>({ search: "", isGrouped: true, attempt: undefined, jump: undefined });
  return { ...view, set: (changes) => setView((now) => ({ ...now, ...changes })) };
}

interface TimelineToolsProps {
  readonly timeline: InvocationTimeline;
  readonly tools: StepTools;
  readonly matchCount: number;
  readonly onPages: (pages: number) => void;
}

export function TimelineTools({ timeline, tools, matchCount, onPages }: TimelineToolsProps) {
  const failure = firstFailure(timeline);
  const isLong = timeline.steps.length >= SEARCHED_STEPS_MIN || timeline.nextStep !== undefined;
  const hasAttempts = timeline.attempts.length > 1;
  if (!isLong && failure === undefined && !hasAttempts) return null;
  const last = timeline.steps.at(-1);
  return (
    <div className="row tl-tools">
      {isLong && (
        <TextField
          label="Search steps"
          isLabelHidden
          type="search"
          placeholder="Search steps"
          value={tools.search}
          onChange={(search) => tools.set({ search })}
        />
      )}
      {tools.search.trim() !== "" && (
        <span className="small quiet" role="status">
          {matchCount} of {timeline.steps.length.toLocaleString("en")} steps{timeline.nextStep === undefined ? "" : " loaded"}
        </span>
      )}
      {isLong && groupedSteps(timeline.steps).length < timeline.steps.length && (
        <CheckField label="Group repeated steps" isOn={tools.isGrouped} onChange={(isGrouped) => tools.set({ isGrouped })} />
      )}
      {hasAttempts && <AttemptChoice timeline={timeline} tools={tools} />}
      {failure !== undefined && (
        <Button isSmall onClick={() => tools.set({ search: "", attempt: undefined, jump: { key: failure } })}>
          First failure
        </Button>
      )}
      {isLong && last !== undefined && (
        <Button
          isSmall
          onClick={() => {
            if (timeline.nextStep !== undefined) onPages(STEP_PAGES_MAX);
            tools.set({ search: "", attempt: undefined, jump: { key: LATEST } });
          }}
        >
          Latest step
        </Button>
      )}
    </div>
  );
}

const ALL = "all";

function AttemptChoice({ timeline, tools }: Pick<TimelineToolsProps, "timeline" | "tools">) {
  const counts = stepCounts(timeline);
  const choices = timeline.attempts.slice(-CHOSEN_ATTEMPTS_MAX).map(({ number }) => {
    const count = counts.get(number) ?? 0;
    return { value: String(number), label: `Attempt ${number}: ${count === 1 ? "1 step" : `${count} steps`}` };
  });
  return (
    <ChoiceField
      label="Steps of attempt"
      isLabelHidden
      value={tools.attempt === undefined ? ALL : String(tools.attempt)}
      choices={[{ value: ALL, label: "All attempts" }, ...choices]}
      onChange={(next) => tools.set({ attempt: next === ALL ? undefined : Number(next) })}
    />
  );
}

/** Key of a jump to the last row that there is. */
export const LATEST = "latest";

/** Key of the row of the first step that failed, or else of the first failed attempt. */
function firstFailure({ steps, attempts }: InvocationTimeline): string | undefined {
  const step = steps.find(({ result }) => result === "failure");
  if (step !== undefined) return String(step.index);
  const attempt = attempts.find(({ outcome }) => outcome === "failed");
  return attempt === undefined ? undefined : `attempt-${attempt.number}`;
}
