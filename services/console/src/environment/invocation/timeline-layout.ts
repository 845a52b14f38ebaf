/**
 * Computes where everything of a timeline is, apart from how it is drawn. An invocation becomes rows; an unfolded call adds the rows of the
 * child; a row's bars get their place in the visible window of time. Pure.
 *
 *     root           ├── phases ──────────────────────────────┤                    attempts, then one row a step
 *       call ▾       ├───────────┤
 *         child        ├ phases ┤        depth 1, in the root's time
 */

import { attemptOf, stepCounts } from "./attempts.js";
import {
  clipped,
  type DrawnAttempt,
  type InvocationTimeline,
  lengthOf,
  stepName,
  type TimelinePhase,
  type TimelineStep,
  type TimeSpan,
} from "./invocation-timeline.js";
import { ATTEMPT_ROWS_MAX, DEPTH_MAX, WINDOW_MS_MIN } from "./limits.js";
import type { PendingWait } from "./pending-waits.js";
import { groupedSteps, groupText, isMatch, type StepGroup } from "./step-groups.js";

/** A child, as far as it is loaded. */
export type TimelineChild =
  | { readonly kind: "loading" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "life"; readonly timeline: InvocationTimeline };

interface RowFacts {
  /** Key of this row, unique among all rows. */
  readonly key: string;
  /** 0: of the invocation itself; of a child one more than of the step that called it. */
  readonly depth: number;
  /** The invocation that the row belongs to. */
  readonly invocationId: string;
}

interface PhasesRow extends RowFacts {
  readonly kind: "phases";
  readonly timeline: InvocationTimeline;
  readonly bars: readonly TimelinePhase[];
}

interface AttemptsRow extends RowFacts {
  readonly kind: "attempts";
  /** One after the other, in one lane. */
  readonly bars: readonly DrawnAttempt[];
  /** Undefined when it cannot be unfolded. */
  readonly isUnfolded: boolean | undefined;
}

interface AttemptRow extends RowFacts {
  readonly kind: "attempt";
  readonly bar: DrawnAttempt;
  /** Number of steps that it began, as far as they were read. */
  readonly stepCount: number;
}

interface StepRow extends RowFacts {
  readonly kind: "step";
  readonly bar: TimelineStep;
  /** The invocation that it called, when that has a timeline of its own to show here. */
  readonly childId: string | undefined;
  readonly isUnfolded: boolean;
  /** The attempt that began it, where there were several. */
  readonly attempt: number | undefined;
  /** Whether the same invocation called this target several times, so that only the id of the called invocation distinguishes the rows. */
  readonly isRepeatedCall: boolean;
}

/** Like steps that share a row until it is unfolded. */
interface GroupRow extends RowFacts {
  readonly kind: "group";
  /** `run page 1 … page 894` */
  readonly text: string;
  readonly bars: readonly TimelineStep[];
  readonly isUnfolded: boolean;
}

/** Current waits, and the next attempt. */
interface WaitRow extends RowFacts {
  readonly kind: "wait";
  readonly bar: PendingWait;
}

/** Steps that were not read yet. */
interface MoreRow extends RowFacts {
  readonly kind: "more";
  readonly nextStep: number;
}

interface NoteRow extends RowFacts {
  readonly kind: "note";
  readonly text: string;
  readonly isProblem: boolean;
}

export type TimelineRow = PhasesRow | AttemptsRow | AttemptRow | StepRow | GroupRow | WaitRow | MoreRow | NoteRow;

export interface RowsOptions {
  /** Keys of rows that are unfolded. */
  readonly unfolded: ReadonlySet<string>;
  /** Children by invocation id. */
  readonly children: ReadonlyMap<string, TimelineChild>;
  /** Steps only: no rows for attempts when there was but one. */
  readonly isCompact?: boolean | undefined;
  /** Like steps share a row. */
  readonly isGrouped?: boolean | undefined;
  /** Text that the shown steps of the invocation itself must have. */
  readonly search?: string | undefined;
  /** Attempt that must have begun the shown steps of the invocation itself. */
  readonly attempt?: number | undefined;
  /** Journal index of a step that is shown even when its group is folded. */
  readonly shown?: number | undefined;
  /** Waits of the invocation itself. */
  readonly waits?: readonly PendingWait[] | undefined;
}

/** The rows in reading order. Bars of children are clipped to the root's time. */
export function rowsOf(root: InvocationTimeline, options: RowsOptions): readonly TimelineRow[] {
  const rows: TimelineRow[] = [];
  addTimeline(root, root.span, "", 0, new Set([root.id]), options, rows);
  return rows;
}

function addTimeline(
  timeline: InvocationTimeline,
  bounds: TimeSpan,
  prefix: string,
  depth: number,
  above: ReadonlySet<string>,
  options: RowsOptions,
  rows: TimelineRow[],
): void {
  const facts = { depth, invocationId: timeline.id };
  const isChild = depth > 0;
  const bars = isChild ? timeline.phases.map((phase) => ({ ...phase, ...clipped(phase, bounds) })) : timeline.phases;
  rows.push({ ...facts, kind: "phases", key: `${prefix}phases`, timeline, bars });
  addAttempts(timeline, bounds, prefix, facts, options, rows);
  const repeated = repeatedCalls(timeline);
  const clip = (step: TimelineStep): TimelineStep => (isChild ? { ...step, ...clipped(step, bounds) } : step);
  const addStep = (step: TimelineStep) => {
    const key = `${prefix}${step.index}`;
    const childId = childOf(step, depth, above);
    const isUnfolded = childId !== undefined && options.unfolded.has(key);
    const attempt = timeline.attempts.length > 1 ? attemptOf(step, timeline) : undefined;
    const isRepeatedCall = repeated.has(callName(step) ?? "");
    rows.push({ ...facts, kind: "step", key, bar: clip(step), childId, isUnfolded, attempt, isRepeatedCall });
    if (isUnfolded) addChild(childId, bounds, key, depth + 1, new Set([...above, childId]), options, rows);
  };
  for (const part of partsOf(timeline, isChild, options)) {
    if (!("steps" in part)) {
      addStep(part);
      continue;
    }
    const { steps } = part;
    const key = `${prefix}group-${steps[0]?.index}`;
    const isUnfolded = options.unfolded.has(key) || (!isChild && steps.some(({ index }) => index === options.shown));
    rows.push({ ...facts, kind: "group", key, text: groupText(part), bars: steps.map(clip), isUnfolded });
    if (isUnfolded) for (const step of steps) addStep(step);
  }
  if (timeline.nextStep !== undefined) rows.push({ ...facts, kind: "more", key: `${prefix}more`, nextStep: timeline.nextStep });
  if (isChild) return;
  for (const bar of options.waits ?? []) rows.push({ ...facts, kind: "wait", key: `wait-${bar.kind}-${bar.name}`, bar });
}

function partsOf(timeline: InvocationTimeline, isChild: boolean, options: RowsOptions): readonly (TimelineStep | StepGroup)[] {
  const { isGrouped, search = "", attempt } = options;
  const isOfAttempt = (step: TimelineStep) => isChild || attempt === undefined || attemptOf(step, timeline) === attempt;
  const steps = attempt === undefined ? timeline.steps : timeline.steps.filter(isOfAttempt);
  if (!isChild && search.trim() !== "") return steps.filter((step) => isMatch(step, search));
  return isGrouped === true ? groupedSteps(steps) : steps;
}

function addChild(
  childId: string,
  bounds: TimeSpan,
  key: string,
  depth: number,
  above: ReadonlySet<string>,
  options: RowsOptions,
  rows: TimelineRow[],
): void {
  const child = options.children.get(childId);
  const below = { depth, invocationId: childId };
  if (child?.kind === "life") {
    addTimeline(child.timeline, bounds, `${key}/`, depth, above, options, rows);
  } else if (child?.kind === "failed") {
    rows.push({ ...below, kind: "note", key: `${key}/note`, text: child.message, isProblem: true });
  } else {
    rows.push({ ...below, kind: "note", key: `${key}/note`, text: "Loading …", isProblem: false });
  }
}

function addAttempts(
  timeline: InvocationTimeline,
  bounds: TimeSpan,
  prefix: string,
  facts: { readonly depth: number; readonly invocationId: string },
  { unfolded, isCompact }: RowsOptions,
  rows: TimelineRow[],
): void {
  const { attempts } = timeline;
  if (attempts.length === 0 || (attempts.length === 1 && (facts.depth > 0 || isCompact === true))) return;
  const bars = facts.depth === 0 ? attempts : attempts.map((attempt) => ({ ...attempt, ...clipped(attempt, bounds) }));
  const key = `${prefix}attempts`;
  const canFold = bars.length > ATTEMPT_ROWS_MAX;
  const isUnfolded = canFold && unfolded.has(key);
  if (canFold) rows.push({ ...facts, kind: "attempts", key, bars, isUnfolded });
  if (canFold && !isUnfolded) return;
  const counts = stepCounts(timeline);
  for (const bar of bars) {
    const stepCount = counts.get(bar.number) ?? 0;
    rows.push({ ...facts, kind: "attempt", key: `${prefix}attempt-${bar.number}`, bar, stepCount });
  }
}

/** Kind and name of a step that called an invocation; undefined for other steps. */
function callName({ view }: TimelineStep): string | undefined {
  return view.invocation_id === null ? undefined : `${view.type} ${stepName(view)}`;
}

function repeatedCalls({ steps }: InvocationTimeline): ReadonlySet<string> {
  const once = new Set<string>();
  const repeated = new Set<string>();
  for (const step of steps) {
    const name = callName(step);
    if (name !== undefined) (once.has(name) ? repeated : once).add(name);
  }
  return repeated;
}

/** A call shows its child, except in a recursion without end. */
function childOf({ view }: TimelineStep, depth: number, above: ReadonlySet<string>): string | undefined {
  const id = view.invocation_id ?? undefined;
  return id === undefined || depth + 1 >= DEPTH_MAX || above.has(id) ? undefined : id;
}

/** Keys of folded calls among the rows, in order: unfolding all of them shows one level more. */
export function foldedCalls(rows: readonly TimelineRow[]): readonly string[] {
  return rows.flatMap((row) => (row.kind === "step" && row.childId !== undefined && !row.isUnfolded ? [row.key] : []));
}

/** Children that must be loaded for the rows: those of unfolded steps. */
export function unfoldedChildIds(rows: readonly TimelineRow[]): readonly string[] {
  const ids = new Set<string>();
  for (const row of rows) if (row.kind === "step" && row.isUnfolded && row.childId !== undefined) ids.add(row.childId);
  return [...ids];
}

// ── places ───────────────────────────────────────────────────────────────────────────────────────

interface BarPlacement {
  /** Percent of the window's width, 0 to 100. */
  readonly left: number;
  /** Percent; 0 for an interval of no length. `left + width` is at most 100. */
  readonly width: number;
}

/** Position of a bar in the window; undefined when it is outside of it. */
export function placeOf(span: TimeSpan, window: TimeSpan): BarPlacement | undefined {
  const whole = Math.max(lengthOf(window), WINDOW_MS_MIN);
  if (span.toMs < window.fromMs || span.fromMs > window.toMs) return undefined;
  const { fromMs, toMs } = clipped(span, window);
  const left = Math.min(100, ((fromMs - window.fromMs) / whole) * 100);
  return { left, width: Math.min(100 - left, ((toMs - fromMs) / whole) * 100) };
}

interface TimelineTick {
  /** Milliseconds since the invocation was created. */
  readonly offsetMs: number;
  /** Percent of the window's width. */
  readonly left: number;
}

const NICE = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const STEPS_MS: readonly number[] = [
  ...NICE,
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR_MS),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000].map((count) => count * DAY_MS),
];

/** Returns ticks at round times since `originMs`, at most `countMax` of them. */
export function ticksOf(window: TimeSpan, originMs: number, countMax: number): readonly TimelineTick[] {
  const whole = lengthOf(window);
  if (whole <= 0) return [{ offsetMs: window.fromMs - originMs, left: 0 }];
  const every = STEPS_MS.find((step) => whole / step < countMax) ?? whole;
  const ticks: TimelineTick[] = [];
  const first = Math.ceil((window.fromMs - originMs) / every);
  for (let at = first; ticks.length < countMax; at++) {
    const ms = originMs + at * every;
    if (ms > window.toMs) break;
    ticks.push({ offsetMs: at * every, left: ((ms - window.fromMs) / whole) * 100 });
  }
  return ticks;
}

// ── zoom ─────────────────────────────────────────────────────────────────────────────────────────

/** `factor` below 1 zooms in. `at`: the part of the window that stays where it is, 0 to 1. Undefined: everything is visible. */
export function zoomed(window: TimeSpan | undefined, whole: TimeSpan, factor: number, at = 0.5): TimeSpan | undefined {
  const from = window ?? whole;
  const length = Math.max(WINDOW_MS_MIN, lengthOf(from) * factor);
  const middle = from.fromMs + lengthOf(from) * at;
  return within({ fromMs: middle - length * at, toMs: middle + length * (1 - at) }, whole);
}

/** `by`: parts of the window's length, negative to the left. */
export function panned(window: TimeSpan | undefined, whole: TimeSpan, by: number): TimeSpan | undefined {
  if (window === undefined) return undefined;
  const shift = lengthOf(window) * by;
  return within({ fromMs: window.fromMs + shift, toMs: window.toMs + shift }, whole);
}

/** The range that the user drew, `from` and `to` as parts of the window. Undefined when it is too short to be intended. */
export function selected(window: TimeSpan, whole: TimeSpan, from: number, to: number): TimeSpan | undefined {
  const [left, right] = from < to ? [from, to] : [to, from];
  if (right - left < 0.005) return undefined;
  const at = (part: number) => window.fromMs + lengthOf(window) * Math.min(1, Math.max(0, part));
  return within({ fromMs: at(left), toMs: Math.max(at(right), at(left) + WINDOW_MS_MIN) }, whole);
}

/** Moved into the whole; undefined when it is as long as the whole. */
function within(window: TimeSpan, whole: TimeSpan): TimeSpan | undefined {
  const length = lengthOf(window);
  if (length >= lengthOf(whole)) return undefined;
  const fromMs = Math.min(Math.max(window.fromMs, whole.fromMs), whole.toMs - length);
  return { fromMs, toMs: fromMs + length };
}
