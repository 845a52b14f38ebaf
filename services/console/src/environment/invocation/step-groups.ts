/**
 * A loop writes hundreds of similar steps, and the important one comes after them. Neighbours of one kind whose names differ in numbers
 * only share a row, which unfolds. Steps that are pending or have failed always have rows of their own. Pure.
 */
import { stepKind, stepName, type TimelineStep } from "./invocation-timeline.js";
import { GROUPED_STEPS_MIN } from "./limits.js";

export interface StepGroup {
  /** Steps in the order of the journal, at least `GROUPED_STEPS_MIN`. */
  readonly steps: readonly TimelineStep[];
}

/** Steps alone and groups of them, together exactly `steps` in their order. */
export function groupedSteps(steps: readonly TimelineStep[]): readonly (TimelineStep | StepGroup)[] {
  const parts: (TimelineStep | StepGroup)[] = [];
  let run: TimelineStep[] = [];
  let likenessOfRun: string | undefined;
  const closeRun = () => {
    if (run.length >= GROUPED_STEPS_MIN) parts.push({ steps: run });
    else parts.push(...run);
  };
  for (const step of steps) {
    const likeness = likenessOf(step);
    if (likeness === undefined || likeness !== likenessOfRun) {
      closeRun();
      run = [];
    }
    run.push(step);
    likenessOfRun = likeness;
  }
  closeRun();
  return parts;
}

/** Equal for steps that share a row; undefined for steps with a row of their own. */
function likenessOf({ result, view }: TimelineStep): string | undefined {
  if (result !== "success" || view.type === "Input" || view.type === "Output") return undefined;
  return `${view.type} ${stepName(view).replaceAll(/\d+/g, "#")}`;
}

/** `run page 1 … page 894` */
export function groupText({ steps }: StepGroup): string {
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined) return "";
  const [from, to] = [stepName(first.view), stepName(last.view)];
  const names = from === to ? from : `${from} … ${to}`;
  return names === "" ? stepKind(first.view.type) : `${stepKind(first.view.type)} ${names}`;
}

/** Whether the step matches `text`: in its kind, its name or its target. */
export function isMatch({ view }: TimelineStep, text: string): boolean {
  const term = text.trim().toLowerCase();
  return [stepKind(view.type), view.type, view.name, view.subject].join("\n").toLowerCase().includes(term);
}
