/** A line for each event of a timeline. Pure. */
import type { TimelineEvent } from "./follow.js";
import { stepLine, type TimelineStyle, titleOf, whyFailed } from "./timeline-lines.js";

export function lineOf(event: TimelineEvent, style: TimelineStyle): string {
  switch (event.kind) {
    case "phase": {
      const { phase, waits_for, from } = event.phase;
      return `${timeOf(from)} ${phase.replace("_", " ")}${waits_for === null ? "" : `, waits for ${waits_for.replace("_", " ")}`}`;
    }
    case "attempt_failed":
      return `${timeOf(event.attempt.to)} ${style.paint("red", `attempt ${event.attempt.number} failed: ${whyFailed(event.attempt)}`)}`;
    case "step_began":
      return `${timeOf(event.step.from)}   ${String(event.step.index).padStart(3)}  ● ${titleOf(event.step)}`;
    case "step_ended":
      return `${timeOf(event.step.to ?? event.step.from)} ${stepLine(event.step, style)}`;
    case "ended":
      return `${timeOf(event.timeline.completed_at)} completed`;
  }
}

/** `17:48:26.123` of an RFC 3339 text. */
const timeOf = (text: string | null): string => text?.slice(11, 23) ?? "            ";
