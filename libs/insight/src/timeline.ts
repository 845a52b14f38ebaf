/** Why: where the time of an invocation went: phases that add up to the wall time, the attempts in them, and the steps of the journal. */
import { EVENT_SLOTS } from "@perdure/partition";
import type { InvocationSnapshot } from "./facts.js";
import { STEPS_SHOWN_MAX } from "./limits.js";
import { type InvocationPhase, type PhaseSegment, phasesOf, type TimelineAttempt } from "./phases.js";
import { type JournalStep, readJournal } from "./steps.js";

export type { InvocationPhase, PhaseSegment, TimelineAttempt, WaitsFor } from "./phases.js";

export interface Timeline {
  readonly fromMs: number;
  /** Now. */
  readonly toMs: number;
  /** Of phases; they add up to `toMs - fromMs` exactly. */
  readonly totals: Readonly<Record<InvocationPhase, number>>;
  /** Without gaps, in order. */
  readonly segments: readonly PhaseSegment[];
  /** In the order in which they ended. */
  readonly attempts: readonly TimelineAttempt[];
  /** Failed attempts may have been forgotten: only the newest are kept, and each run writes over those of the run before. */
  readonly attemptsMayBeMissing: boolean;
  /** From the step asked for on, at most `STEPS_SHOWN_MAX`. */
  readonly steps: readonly JournalStep[];
  /** Journal index of the first step left out; undefined when none is. */
  readonly nextStep: number | undefined;
  /** The journal is longer than what was read, or was purged. */
  readonly journalIsPartial: boolean;
}

const NOTHING: Readonly<Record<InvocationPhase, number>> = {
  delayed: 0,
  queued: 0,
  running: 0,
  suspended: 0,
  backingOff: 0,
  paused: 0,
  completed: 0,
};

/** `firstStep` is a journal index. `idleMs`: see `phasesOf`. */
export function timelineOf(snapshot: InvocationSnapshot, nowMs: number, idleMs: number | undefined, firstStep = 0): Timeline {
  const { segments, attempts } = phasesOf(snapshot, nowMs, idleMs);
  const totals = { ...NOTHING };
  for (const { phase, fromMs, toMs } of segments) totals[phase] += toMs - fromMs;
  const all = readJournal(snapshot.entries).steps.filter(({ index }) => index >= firstStep);
  const { invocation } = snapshot;
  const wasPurged = invocation.status === "completed" && invocation.journal.length === 0;
  return {
    fromMs: invocation.facts.createdAtMs,
    toMs: Math.max(nowMs, invocation.facts.createdAtMs),
    totals,
    segments,
    attempts,
    attemptsMayBeMissing:
      wasPurged || (invocation.journal.hasEvents && (snapshot.events.length >= EVENT_SLOTS || invocation.run > 1)),
    steps: all.slice(0, STEPS_SHOWN_MAX),
    nextStep: all[STEPS_SHOWN_MAX]?.index,
    journalIsPartial: wasPurged || snapshot.entries.length < invocation.journal.length,
  };
}
