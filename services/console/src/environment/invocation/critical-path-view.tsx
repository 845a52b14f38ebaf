/** What the duration of a completed invocation consists of: the three largest parts of its critical path. */
import { Button, durationText } from "../../kit/index.js";
import type { CriticalPath, PathPart } from "./critical-path.js";
import { type InvocationTimeline, percent } from "./invocation-timeline.js";
import { PATH_PARTS_MAX, STEP_PAGES_MAX } from "./limits.js";

interface CriticalPathViewProps {
  readonly timeline: InvocationTimeline;
  readonly path: CriticalPath | undefined;
  readonly canLoad: boolean;
  /** Jumps to the row of the step. */
  readonly onStep: (index: number) => void;
  readonly onPages: (pages: number) => void;
}

export function CriticalPathView({ timeline, path, canLoad, onStep, onPages }: CriticalPathViewProps) {
  if (timeline.isDone && timeline.nextStep !== undefined) {
    return canLoad ? (
      <p className="row small quiet">
        The critical path needs all steps.
        <Button isSmall onClick={() => onPages(STEP_PAGES_MAX)}>
          Load all steps
        </Button>
      </p>
    ) : null;
  }
  if (path === undefined || path.steps.size === 0) return null;
  return (
    <div className="tl-path small">
      <span>
        <span className="tl-path__sign" aria-hidden="true" /> Critical path
      </span>
      <ol className="tl-path__parts" aria-label="Critical path">
        {path.parts.slice(0, PATH_PARTS_MAX).map((part) => (
          <li key={part.text}>
            <strong>{percent(part.share)}</strong> <PartText part={part} onStep={onStep} />{" "}
            <span className="quiet">
              {durationText(part.ms)}
              {part.count > 1 && `, ${part.count.toLocaleString("en")} times`}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function PartText({ part: { text, step }, onStep }: { readonly part: PathPart; readonly onStep: (index: number) => void }) {
  if (step === undefined) return text;
  return (
    <button type="button" className="tl-path__step" title="Show the step that took most of it" onClick={() => onStep(step)}>
      {text}
    </button>
  );
}
