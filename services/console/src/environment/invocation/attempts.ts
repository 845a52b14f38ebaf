/** Steps by attempt, which shows after a failure what each attempt did. A step belongs to the attempt in which it began. Pure. */
import type { InvocationTimeline, TimelineStep } from "./invocation-timeline.js";

/** Number of the attempt that began the step; undefined when no attempt did, or its record is gone. */
export function attemptOf(
  { view, fromMs }: TimelineStep,
  { attempts, areAttemptsMissing }: InvocationTimeline,
): number | undefined {
  // The input is there before any attempt, and signals come from outside.
  if (view.type === "Input" || view.type === "Signal") return undefined;
  const [first] = attempts;
  if (first === undefined || (areAttemptsMissing && fromMs < first.fromMs)) return undefined;
  // Of some attempts only the end is recorded.
  return attempts.find(({ toMs }) => fromMs <= toMs)?.number ?? attempts.at(-1)?.number;
}

/** Number of steps that each attempt began, as far as steps were read. */
export function stepCounts(timeline: InvocationTimeline): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const step of timeline.steps) {
    const attempt = attemptOf(step, timeline);
    if (attempt !== undefined) counts.set(attempt, (counts.get(attempt) ?? 0) + 1);
  }
  return counts;
}
