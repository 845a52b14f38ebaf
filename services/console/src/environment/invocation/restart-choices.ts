/** Steps after which a completed invocation can be restarted, found by a part of their text. Pure. */
import { type InvocationTimeline, stepKind, stepName, type TimelineStep } from "./invocation-timeline.js";
import { RESTART_CHOICES_MAX } from "./limits.js";
import { isMatch } from "./step-groups.js";

interface RestartChoices {
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  /** What the list leaves out; undefined when it has every step. */
  readonly remark: string | undefined;
}

/**
 * The beginning, and the newest steps that match: most restarts repeat the last ones. The chosen step is always there, also when it was chosen
 * on another page.
 */
export function restartChoices(timeline: InvocationTimeline | undefined, from: number, search: string): RestartChoices {
  const all = keepable(timeline);
  const matching = search.trim() === "" ? all : all.filter((step) => isMatch(step, search));
  const shown = new Set(matching.slice(-RESTART_CHOICES_MAX));
  const steps = all.filter((step) => shown.has(step) || step.index === from);
  const choices = [
    { value: "0", label: "From the beginning" },
    ...steps.map((step) => ({ value: String(step.index), label: labelOf(step) })),
  ];
  const isListed = choices.some(({ value }) => value === String(from));
  return {
    choices: isListed ? choices : [...choices, { value: String(from), label: `After entry ${from}` }],
    remark: remarkOf(all.length, matching.length, shown.size),
  };
}

function remarkOf(all: number, matching: number, shown: number): string | undefined {
  if (matching === 0 && all > 0) return "No step matches.";
  if (shown < matching)
    return `The list has the last ${shown} of ${matching.toLocaleString("en")} steps. Search to find the others.`;
  return matching < all ? `${matching.toLocaleString("en")} of ${all.toLocaleString("en")} steps match.` : undefined;
}

function labelOf({ index, view }: TimelineStep): string {
  const name = stepName(view);
  return `After ${index}: ${stepKind(view.type)}${name === "" ? "" : ` ${name}`}`;
}

/** An output that is kept leaves nothing to do. */
export function keepable(timeline: InvocationTimeline | undefined): readonly TimelineStep[] {
  return (timeline?.steps ?? []).filter(({ view, index }) => index > 0 && view.type !== "Output" && view.type !== "Signal");
}

export function keptText(timeline: InvocationTimeline | undefined, from: number): string {
  if (from === 0) return "The new invocation gets the same input and runs every step again. This invocation stays unchanged.";
  const kept = keepable(timeline).filter(({ index }) => index <= from).length;
  const steps = kept === 1 ? "1 step" : `${kept} steps`;
  return `The new invocation keeps the input and the first ${steps} with their results; all later steps run again. This invocation stays unchanged.`;
}
