/**
 * The management API returns a timeline as texts and pages; layouts compute with milliseconds since 1970. This file parses it once and
 * completes it: phases without gaps and overlaps between the two ends, nothing negative, nothing beyond them. Pure.
 */
import type { AttemptView, StepView, TimelineView } from "@perdure/admin-client";
import { durationText } from "../../kit/time-text.js";

export interface TimeSpan {
  readonly fromMs: number;
  /** Not before `fromMs`. */
  readonly toMs: number;
}

/** `unknown`: the server returned nothing about this time. */
type PhaseName = "delayed" | "queued" | "running" | "suspended" | "backing_off" | "paused" | "unknown";

export interface TimelinePhase extends TimeSpan {
  readonly phase: PhaseName;
  readonly waitsFor: string | undefined;
  readonly isInferred: boolean;
}

interface PhaseSum {
  readonly phase: PhaseName;
  readonly ms: number;
  /** Part of the whole, 0 to 1. */
  readonly share: number;
}

export interface DrawnAttempt extends TimeSpan {
  readonly number: number;
  readonly outcome: string;
  readonly isRunning: boolean;
  /** Whether only the end of the step is recorded. */
  readonly isStartUnknown: boolean;
  readonly deploymentId: string | undefined;
  readonly failure: AttemptView["failure"];
}

export interface TimelineStep extends TimeSpan {
  readonly index: number;
  readonly result: StepView["result"];
  readonly view: StepView;
}

export interface InvocationTimeline {
  readonly id: string;
  readonly target: string;
  readonly status: string;
  /** Time from the invocation's creation to its end, or to now. */
  readonly span: TimeSpan;
  readonly isDone: boolean;
  /** Phases in order, without gaps and overlaps; together they cover exactly `span`. */
  readonly phases: readonly TimelinePhase[];
  /** Sums of phases in the order in which they occur; they add up to the length of `span`. Phases that did not occur are left out. */
  readonly sums: readonly PhaseSum[];
  readonly attempts: readonly DrawnAttempt[];
  readonly steps: readonly TimelineStep[];
  /** Journal index of the first step that was not read yet. */
  readonly nextStep: number | undefined;
  readonly areAttemptsMissing: boolean;
  readonly isJournalPartial: boolean;
  /** Undefined for invocations that are not forks. */
  readonly fork?: TimelineView["fork"];
}

const PHASES: readonly PhaseName[] = ["delayed", "queued", "running", "suspended", "backing_off", "paused", "unknown"];

/** Pages of one timeline, the one with the first steps first; at least one. Everything but the steps is taken from `newest`. */
export function readTimeline(pages: readonly TimelineView[], newest: TimelineView): InvocationTimeline {
  const fromMs = momentMs(newest.from);
  const isDone = newest.completed_at !== null;
  const span = { fromMs, toMs: Math.max(fromMs, momentMs(newest.completed_at ?? newest.to)) };
  const phases = wholePhases(newest.phases, span);
  return {
    id: newest.id,
    target: newest.target,
    status: newest.status,
    span,
    isDone,
    phases,
    sums: sumsOf(phases, span),
    attempts: newest.attempts.map((attempt) => attemptSpan(attempt, span)),
    steps: pages.flatMap((page) => page.steps.map((step) => stepSpan(step, span))),
    nextStep: pages.at(-1)?.next_step ?? undefined,
    areAttemptsMissing: newest.attempts_may_be_missing,
    isJournalPartial: newest.journal_is_partial,
    fork: newest.fork,
  };
}

/** RFC 3339 with up to nine digits of a second, which not all browsers read. */
export function momentMs(text: string): number {
  return Date.parse(text.replace(/(\.\d{3})\d+/, "$1"));
}

export function lengthOf({ fromMs, toMs }: TimeSpan): number {
  return toMs - fromMs;
}

/** The part of `span` within `bounds`; of no length, at the nearer end, when they do not overlap. */
export function clipped(span: TimeSpan, bounds: TimeSpan): TimeSpan {
  const fromMs = Math.min(Math.max(span.fromMs, bounds.fromMs), bounds.toMs);
  return { fromMs, toMs: Math.min(Math.max(span.toMs, fromMs), bounds.toMs) };
}

function wholePhases(views: TimelineView["phases"], span: TimeSpan): TimelinePhase[] {
  const phases: TimelinePhase[] = [];
  let cursor = span.fromMs;
  const lay = (toMs: number, phase: PhaseName, waitsFor: string | undefined, isInferred: boolean) => {
    if (toMs <= cursor) return;
    phases.push({ phase, waitsFor, fromMs: cursor, toMs, isInferred });
    cursor = toMs;
  };
  for (const view of [...views].sort((a, b) => momentMs(a.from) - momentMs(b.from))) {
    // Later events do not belong to the timeline.
    if (view.phase === "completed") continue;
    const { fromMs, toMs } = clipped({ fromMs: momentMs(view.from), toMs: momentMs(view.to) }, span);
    lay(fromMs, "unknown", undefined, true);
    const phase = PHASES.find((one) => one === view.phase) ?? "unknown";
    lay(toMs, phase, view.waits_for ?? undefined, view.inferred);
  }
  lay(span.toMs, "unknown", undefined, true);
  return phases;
}

function sumsOf(phases: readonly TimelinePhase[], span: TimeSpan): PhaseSum[] {
  const whole = lengthOf(span);
  const totals = new Map<PhaseName, number>();
  for (const phase of phases) totals.set(phase.phase, (totals.get(phase.phase) ?? 0) + lengthOf(phase));
  return PHASES.filter((phase) => totals.has(phase)).map((phase) => {
    const ms = totals.get(phase) ?? 0;
    return { phase, ms, share: whole === 0 ? 0 : ms / whole };
  });
}

function attemptSpan(view: AttemptView, span: TimeSpan): DrawnAttempt {
  const toMs = view.to === null ? span.toMs : momentMs(view.to);
  const fromMs = view.from === null ? toMs : momentMs(view.from);
  return {
    ...clipped({ fromMs, toMs }, span),
    number: view.number,
    outcome: view.outcome,
    isRunning: view.outcome === "running",
    isStartUnknown: view.from === null,
    deploymentId: view.deployment_id ?? undefined,
    failure: view.failure,
  };
}

function stepSpan(view: StepView, span: TimeSpan): TimelineStep {
  const fromMs = momentMs(view.from);
  const toMs = view.to === null ? span.toMs : momentMs(view.to);
  return { ...clipped({ fromMs, toMs }, span), index: view.index, result: view.result, view };
}

/** The journal entry of a command that is identified by its number among commands; undefined when its page was not read. */
export function entryOfCommand({ steps }: InvocationTimeline, command: number): number | undefined {
  // Signals are steps without a command.
  return steps.filter(({ view }) => view.type !== "Signal")[command]?.index;
}

// ── texts ────────────────────────────────────────────────────────────────────────────────────────

const PHASE_LABELS: Readonly<Record<PhaseName, string>> = {
  delayed: "delayed",
  queued: "waiting",
  running: "running",
  suspended: "suspended",
  backing_off: "backing off",
  paused: "paused",
  unknown: "unknown",
};

export function phaseLabel(phase: PhaseName): string {
  return PHASE_LABELS[phase];
}

const WAIT_LABELS: Readonly<Record<string, string>> = {
  start_time: "for its start time",
  delivery: "to be delivered",
  lock: "for its object",
  slot: "for a slot",
  notification: "for an event",
  retry: "for the next attempt",
  resume: "to be resumed",
};

export function phaseText(phase: TimelinePhase): string {
  const waits = phase.waitsFor === undefined ? undefined : WAIT_LABELS[phase.waitsFor];
  const text = waits === undefined ? phaseLabel(phase.phase) : `${phaseLabel(phase.phase)} ${waits}`;
  return `${text}, ${durationText(lengthOf(phase))}${phase.isInferred ? " (about)" : ""}`;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  running: "still running",
  failed: "failed",
  suspended: "suspended",
  paused: "paused",
  completed: "completed",
  interrupted: "aborted",
};

export function attemptText(attempt: DrawnAttempt): string {
  const outcome = OUTCOMES[attempt.outcome] ?? attempt.outcome;
  const lasted = attempt.isStartUnknown ? "start unknown" : durationText(lengthOf(attempt));
  const failure = attempt.failure === null ? "" : `: ${attempt.failure.message}`;
  return `attempt ${attempt.number}, ${lasted}, ${outcome}${failure}`;
}

const KINDS: Readonly<Record<string, string>> = {
  Input: "input",
  Output: "output",
  Run: "run",
  Sleep: "sleep",
  Call: "call",
  OneWayCall: "send",
  GetLazyState: "read state",
  GetEagerState: "read state",
  GetLazyStateKeys: "list state",
  GetEagerStateKeys: "list state",
  SetState: "write state",
  ClearState: "clear state",
  ClearAllState: "clear all state",
  GetPromise: "await promise",
  PeekPromise: "peek at promise",
  CompletePromise: "complete promise",
  SendSignal: "send signal",
  AttachInvocation: "attach",
  GetInvocationOutput: "get output",
  CompleteAwakeable: "complete awakeable",
  Signal: "signal",
};

/** `run`, `read state`; types that are new to us as the server writes them. */
export function stepKind(type: string): string {
  return KINDS[type] ?? type;
}

/** Name of the step: the label in user code, or its subject. */
export function stepName({ name, subject }: StepView): string {
  return name !== "" ? name : subject;
}

const RESULTS: Readonly<Record<string, string>> = {
  pending: "pending",
  success: "succeeded",
  failure: "failed",
};

export function resultLabel(result: StepView["result"]): string {
  return RESULTS[result] ?? result;
}

/** `42 %`, of a part between 0 and 1. */
export function percent(share: number): string {
  const whole = Math.round(share * 100);
  return share > 0 && whole === 0 ? "<1 %" : `${whole} %`;
}

/** `run 'pack it', 120 ms, succeeded` */
export function stepText(step: TimelineStep): string {
  const name = stepName(step.view);
  const failure = step.view.failure === null ? "" : `: ${step.view.failure.message}`;
  const text = `${stepKind(step.view.type)}${name === "" ? "" : ` '${name}'`}`;
  return `${text}, ${durationText(lengthOf(step))}, ${resultLabel(step.result)}${failure}`;
}
