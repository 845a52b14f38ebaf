/**
 * Of which steps and waits the duration of a completed invocation consists. The path is computed backwards from the end: the step that ended
 * last before a moment let the handler continue there, and the path continues at the moment when that step began. Time that no step of
 * the path covers is divided by the phases of the timeline. Pure.
 *
 *     a  ├────┤                          a and b run in parallel: b ended last and let c begin, so that a is not on the path
 *     b  ├──────────┤
 *     c              ├────┤
 *     path: b, the handler's code, c
 */
import {
  type InvocationTimeline,
  lengthOf,
  stepKind,
  stepName,
  type TimelineStep,
  type TimeSpan,
} from "./invocation-timeline.js";

interface PathSegment extends TimeSpan {
  /** `waiting for Payments/charge` */
  readonly text: string;
  /** Journal index of the step; undefined for time between steps. */
  readonly step: number | undefined;
}

/** Segments with the same text. */
export interface PathPart {
  readonly text: string;
  readonly ms: number;
  /** Part of the whole duration, 0 to 1. */
  readonly share: number;
  readonly count: number;
  /** The longest of its steps. */
  readonly step: number | undefined;
}

export interface CriticalPath {
  /** In order, without gaps and overlaps; together they cover exactly the invocation's time. */
  readonly segments: readonly PathSegment[];
  readonly steps: ReadonlySet<number>;
  /** The longest first. */
  readonly parts: readonly PathPart[];
}

/** Undefined for an invocation that has not completed, or whose steps are not all there. */
export function criticalPathOf(timeline: InvocationTimeline): CriticalPath | undefined {
  const { span, isDone, nextStep, isJournalPartial } = timeline;
  if (!isDone || nextStep !== undefined || isJournalPartial || lengthOf(span) <= 0) return undefined;
  const reversed: PathSegment[] = [];
  let cursorMs = span.toMs;
  for (const candidate of candidatesOf(timeline)) {
    // A step that ended later let nothing begin at this moment.
    if (candidate.toMs > cursorMs) continue;
    reversed.push(...betweenSteps({ fromMs: candidate.toMs, toMs: cursorMs }, timeline).reverse());
    reversed.push(...withinStep(candidate, timeline).reverse());
    cursorMs = candidate.fromMs;
  }
  reversed.push(...betweenSteps({ fromMs: span.fromMs, toMs: cursorMs }, timeline).reverse());
  const segments = reversed.reverse();
  const steps = new Set(segments.map(({ step }) => step).filter((step) => step !== undefined));
  return { segments, steps, parts: partsOf(segments, lengthOf(span)) };
}

interface PathCandidate extends TimeSpan {
  readonly step: TimelineStep;
}

/** Steps that took time and have ended, the last to end first, and of those that ended together the longest. */
function candidatesOf({ steps, span }: InvocationTimeline): readonly PathCandidate[] {
  const candidates: PathCandidate[] = [];
  for (const step of steps) {
    const { fromMs, toMs, result, view } = step;
    if (!Number.isFinite(fromMs) || !Number.isFinite(toMs) || result === "pending") continue;
    if (toMs > fromMs) candidates.push({ step, fromMs, toMs });
    else if (isAwaitable(view.type, view.subject)) candidates.push({ step, fromMs: Number.NaN, toMs });
  }
  const moments = momentsOf(steps, span);
  return candidates
    .map((each) => (Number.isNaN(each.fromMs) ? { ...each, fromMs: lastBefore(moments, each.toMs) } : each))
    .filter((each) => lengthOf(each) > 0)
    .sort((a, b) => b.toMs - a.toMs || a.fromMs - b.fromMs);
}

/** A signal only has the moment at which it came; a cancellation ends a wait for something else. */
function isAwaitable(type: string, subject: string): boolean {
  return type === "Signal" && subject !== "cancel";
}

/** All moments at which a step began or ended, in order: a handler began to await a signal at one of them at the earliest. */
function momentsOf(steps: readonly TimelineStep[], span: TimeSpan): readonly number[] {
  const moments = steps.flatMap(({ fromMs, toMs, result }) => (result === "pending" ? [fromMs] : [fromMs, toMs]));
  return [span.fromMs, ...moments.filter(Number.isFinite)].sort((a, b) => a - b);
}

function lastBefore(moments: readonly number[], atMs: number): number {
  let [low, high] = [0, moments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((moments[middle] ?? 0) < atMs) low = middle + 1;
    else high = middle;
  }
  return moments[low - 1] ?? atMs;
}

const NEXT_ATTEMPT = "waiting for the next attempt";

/** A step that is run by the handler fails and is retried: the time between its attempts is a part of its own. */
function withinStep({ step, fromMs, toMs }: PathCandidate, { phases }: InvocationTimeline): PathSegment[] {
  const whole = { fromMs, toMs, text: textOf(step), step: step.index };
  if (step.view.type !== "Run") return [whole];
  const pieces: PathSegment[] = [];
  let cursorMs = fromMs;
  for (const phase of phases) {
    const from = Math.max(phase.fromMs, cursorMs);
    const to = Math.min(phase.toMs, toMs);
    if (to <= from || (phase.phase !== "backing_off" && phase.phase !== "paused")) continue;
    if (from > cursorMs) pieces.push({ ...whole, fromMs: cursorMs, toMs: from });
    pieces.push({ ...whole, fromMs: from, toMs: to, text: phase.phase === "paused" ? "paused" : NEXT_ATTEMPT });
    cursorMs = to;
  }
  if (toMs > cursorMs) pieces.push({ ...whole, fromMs: cursorMs });
  return pieces;
}

/** The time between two steps of the path, by phases; the time of failed attempts apart. */
function betweenSteps(gap: TimeSpan, { phases, attempts }: InvocationTimeline): PathSegment[] {
  const segments: PathSegment[] = [];
  for (const phase of phases) {
    const fromMs = Math.max(phase.fromMs, gap.fromMs);
    const toMs = Math.min(phase.toMs, gap.toMs);
    if (toMs <= fromMs) continue;
    const text = phase.phase === "queued" ? (QUEUED[phase.waitsFor ?? ""] ?? "waiting to be run") : PHASE_TEXTS[phase.phase];
    if (phase.phase !== "running") segments.push({ fromMs, toMs, text, step: undefined });
    else segments.push(...byAttempt({ fromMs, toMs }, attempts, text));
  }
  return segments;
}

function byAttempt(span: TimeSpan, attempts: InvocationTimeline["attempts"], text: string): PathSegment[] {
  const segments: PathSegment[] = [];
  let cursorMs = span.fromMs;
  const lay = (toMs: number, what: string) => {
    if (toMs > cursorMs) segments.push({ fromMs: cursorMs, toMs, text: what, step: undefined });
    cursorMs = Math.max(cursorMs, toMs);
  };
  for (const { fromMs, toMs, outcome } of attempts) {
    if (outcome !== "failed" || toMs <= cursorMs || fromMs >= span.toMs) continue;
    lay(fromMs, text);
    lay(Math.min(toMs, span.toMs), "attempts that failed");
  }
  lay(span.toMs, text);
  return segments;
}

const PHASE_TEXTS = {
  delayed: "waiting for its start time",
  queued: "waiting to be run",
  running: "the handler's code between steps",
  suspended: "suspended between steps",
  backing_off: NEXT_ATTEMPT,
  paused: "paused",
  unknown: "not recorded",
} as const;

const QUEUED: Readonly<Record<string, string>> = {
  lock: "waiting for its object",
  slot: "waiting for a slot",
  delivery: "waiting to be delivered",
};

function textOf({ view }: TimelineStep): string {
  const name = stepName(view);
  switch (view.type) {
    case "Call":
    case "AttachInvocation":
    case "GetInvocationOutput":
      return `waiting for ${view.subject === "" ? name : view.subject}`;
    case "GetPromise":
      return `waiting for promise '${view.subject === "" ? name : view.subject}'`;
    case "Signal":
      return view.subject.startsWith("#") ? "waiting for an awakeable" : `waiting for signal '${view.subject}'`;
    default:
      return `${stepKind(view.type)}${name === "" ? "" : ` '${name}'`}`;
  }
}

function partsOf(segments: readonly PathSegment[], wholeMs: number): readonly PathPart[] {
  const byText = new Map<string, { ms: number; steps: Set<number>; gaps: number; longestMs: number; step: number | undefined }>();
  for (const segment of segments) {
    const part = byText.get(segment.text) ?? { ms: 0, steps: new Set(), gaps: 0, longestMs: 0, step: undefined };
    byText.set(segment.text, part);
    const ms = lengthOf(segment);
    part.ms += ms;
    if (segment.step === undefined) part.gaps++;
    else part.steps.add(segment.step);
    if (segment.step !== undefined && ms > part.longestMs) {
      part.longestMs = ms;
      part.step = segment.step;
    }
  }
  return [...byText]
    .map(([text, { ms, steps, gaps, step }]) => ({ text, ms, share: ms / wholeMs, count: steps.size + gaps, step }))
    .sort((a, b) => b.ms - a.ms);
}
