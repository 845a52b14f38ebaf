/** Lays out the minimap, which shows where the visible steps are among thousands, and where much happened. Pure. */
import { clipped, type InvocationTimeline, lengthOf, type TimeSpan } from "./invocation-timeline.js";
import { MINIMAP_BARS } from "./limits.js";

interface MinimapBar {
  /** Steps that began in it, as a part of those in the fullest one; 0 to 1. */
  readonly height: number;
  readonly hasFailure: boolean;
}

/** `MINIMAP_BARS` bars of equal time. */
export function minimapBars({ span, steps }: InvocationTimeline): readonly MinimapBar[] {
  const whole = Math.max(1, lengthOf(span));
  const bars = Array.from({ length: MINIMAP_BARS }, () => ({ count: 0, hasFailure: false }));
  for (const step of steps) {
    const bar = bars[Math.min(MINIMAP_BARS - 1, Math.floor(((step.fromMs - span.fromMs) / whole) * MINIMAP_BARS))];
    if (bar === undefined) continue;
    bar.count++;
    bar.hasFailure ||= step.result === "failure";
  }
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return bars.map(({ count, hasFailure }) => ({ height: count / most, hasFailure }));
}

/** The window moved so that its middle is at `part` of the whole, within the whole. */
export function centredAt(window: TimeSpan, whole: TimeSpan, part: number): TimeSpan {
  const length = lengthOf(window);
  const middle = whole.fromMs + lengthOf(whole) * part;
  const fromMs = Math.min(Math.max(middle - length / 2, whole.fromMs), whole.toMs - length);
  return clipped({ fromMs, toMs: fromMs + length }, whole);
}
