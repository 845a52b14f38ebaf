/** Timeline of an invocation: phases that add up to the wall time, the attempts in them, and the steps of the journal. */
import { EVENT_SLOTS } from "@perdure/state-machine";
import type { InvocationSnapshot } from "./facts.js";
import { STEPS_SHOWN_MAX } from "./limits.js";
import { type InvocationPhase, type PhaseSegment, phasesOf, type TimelineAttempt } from "./phases.js";
import { type JournalStep, readJournal } from "./steps.js";

export type { InvocationPhase, PhaseSegment, TimelineAttempt } from "./phases.js";

export interface Timeline {
  readonly fromMs: number;
  /** The time of the request (ms since 1970). */
  readonly toMs: number;
  /** Milliseconds by phase; they add up to `toMs - fromMs` exactly. */
  readonly totals: Readonly<Record<InvocationPhase, number>>;
  /** Segments in order, without gaps. */
  readonly segments: readonly PhaseSegment[];
  /** Attempts in the order of their ends. */
  readonly attempts: readonly TimelineAttempt[];
  /** Whether failed attempts may be missing: only the newest are stored, and each run overwrites those of the run before. */
  readonly attemptsMayBeMissing: boolean;
  /** Steps from the requested one on, at most `STEPS_SHOWN_MAX`. */
  readonly steps: readonly JournalStep[];
  /** Journal index of the first omitted step; undefined when there is none. */
  readonly nextStep: number | undefined;
  /** Whether the journal is longer than the part that was read, or was purged. */
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
