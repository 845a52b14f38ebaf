/**
 * Assigns every millisecond since an invocation's creation to exactly one phase, so that the durations add up to the wall time. Stored data
 * determine most of the phases exactly; the rest is inferred and marked so.
 *
 *     created ─ delayed ─ queued ─▶ running ◀──▶ suspended | backingOff | paused ─▶ completed
 *               └─ milestones ─┘    └─ commands, failures, notifications of the journal ─┘
 *
 * Not stored: when an attempt began (except the present one), and, for an invocation that stopped often (or was stored by an older server),
 * the first moves between running, suspended, paused and waiting for a slot. A back-off is therefore assumed to end with the first sign of
 * the next attempt. Where moves are missing, the longest of the gaps that ended with a notification count as suspended: as many as the run
 * number shows resumptions.
 */
import { present, unreachable } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import {
  type AttemptError,
  EVENT_SLOTS,
  isExclusive,
  type JournalEvent,
  type Move,
  movesOf,
  resumptionsIn,
} from "@perdure/state-machine";
import type { InvocationSnapshot } from "./facts.js";
import { type Gap, isBefore, type Sign, type Stretch, StretchReader } from "./stretch-reader.js";

export type InvocationPhase = "delayed" | "queued" | "running" | "suspended" | "backingOff" | "paused" | "completed";

/** Event that an invocation in that phase waits for; `delivery` is the way from submission to the first run. */
type WaitsFor = "startTime" | "delivery" | "lock" | "slot" | "notification" | "retry" | "resume" | undefined;

export interface PhaseSegment {
  readonly phase: InvocationPhase;
  readonly waitsFor: WaitsFor;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether one end of the segment, or its phase, is derived instead of stored. */
  readonly inferred: boolean;
}

/** One run of the handler over one stream. */
export interface TimelineAttempt {
  /** Undefined when only the end of the attempt is stored. */
  readonly startedAtMs: number | undefined;
  /** Undefined while the attempt runs. */
  readonly endedAtMs: number | undefined;
  readonly outcome: "running" | "failed" | "suspended" | "paused" | "completed" | "interrupted";
  readonly failure: AttemptError | undefined;
  readonly inferred: boolean;
}

interface Phases {
  /** Segments from the creation to `nowMs`, without gaps and overlaps; empty segments are left out. */
  readonly segments: readonly PhaseSegment[];
  readonly attempts: readonly TimelineAttempt[];
}

/**
 * Computes segments and attempts at `nowMs` (ms since 1970). `idleMs`: how long a waiting handler keeps its stream before it suspends;
 * undefined counts as 0.
 */
export function phasesOf(snapshot: InvocationSnapshot, nowMs: number, idleMs: number | undefined): Phases {
  const { facts, milestones } = snapshot.invocation;
  const track = new Track(facts.createdAtMs, Math.max(nowMs, facts.createdAtMs));
  beforeFirstRun(snapshot, track);
  if (milestones.runningAtMs !== undefined) {
    const walk = new StretchReader(milestones.runningAtMs);
    follow(walk, signsOf(snapshot, milestones.runningAtMs), movesOf(milestones));
    finish(snapshot, walk, track.endMs);
    layDown(walk, suspensionsIn(walk, snapshot), idleMs ?? 0, remembersAll(snapshot), track);
  }
  if (snapshot.invocation.status === "completed") {
    track.cut(milestones.completedAtMs ?? snapshot.invocation.modifiedAtMs, track.lastPhase ?? "queued", undefined, true);
    track.cut(track.endMs, "completed", undefined, true);
  }
  return { segments: track.segments, attempts: track.attempts };
}

// ── the track of segments ────────────────────────────────────────────────────────────────────────

/** Appends segments in order; a time before the last one or after the end is clamped. */
class Track {
  readonly segments: PhaseSegment[] = [];
  readonly attempts: TimelineAttempt[] = [];
  readonly endMs: number;
  #cursor: number;
  #cursorIsExact = true;

  constructor(startMs: number, endMs: number) {
    this.#cursor = startMs;
    this.endMs = endMs;
  }

  get cursor(): number {
    return this.#cursor;
  }

  get lastPhase(): InvocationPhase | undefined {
    return this.segments.at(-1)?.phase;
  }

  clamp(ms: number): number {
    return Math.min(Math.max(ms, this.#cursor), this.endMs);
  }

  /** Appends a segment from the end of the track to `toMs`. `isExact`: `toMs` is stored; `isSure`: the whole segment was in this phase. */
  cut(toMs: number, phase: InvocationPhase, waitsFor: WaitsFor, isExact: boolean, isSure = true): void {
    const to = this.clamp(toMs);
    const inferred = !isSure || !isExact || !this.#cursorIsExact;
    this.#cursorIsExact = isExact;
    if (to === this.#cursor) return;
    const last = this.segments.at(-1);
    if (last !== undefined && last.phase === phase && last.waitsFor === waitsFor && last.inferred === inferred) {
      this.segments[this.segments.length - 1] = { ...last, toMs: to };
    } else this.segments.push({ phase, waitsFor, fromMs: this.#cursor, toMs: to, inferred });
    this.#cursor = to;
  }
}

function beforeFirstRun({ invocation }: InvocationSnapshot, track: Track): void {
  const { milestones, status } = invocation;
  const { scheduledAtMs, inboxedAtMs, runningAtMs } = milestones;
  const firstQueueMs = inboxedAtMs ?? runningAtMs;
  if (status === "scheduled" && inboxedAtMs === undefined) return track.cut(track.endMs, "delayed", "startTime", true);
  if (scheduledAtMs !== undefined && firstQueueMs !== undefined) track.cut(firstQueueMs, "delayed", "startTime", true);
  else if (firstQueueMs !== undefined) track.cut(firstQueueMs, "queued", "delivery", true);
  if (inboxedAtMs !== undefined) track.cut(runningAtMs ?? track.endMs, "queued", queueOf(invocation), true);
  else if (runningAtMs === undefined && status !== "completed") track.cut(track.endMs, "queued", "delivery", true);
}

/** Objects cannot be scoped, so exclusive handlers queue for their object and all other handlers for a slot. */
function queueOf(invocation: InvocationSnapshot["invocation"]): WaitsFor {
  if (invocation.status === "inboxed") return invocation.waitsFor;
  return isExclusive(invocation.facts.target) ? "lock" : "slot";
}

/** Signs in the order in which they were stored, without those before the first run (of a restarted journal, of early signals). */
function signsOf({ entries, events }: InvocationSnapshot, sinceMs: number): Sign[] {
  const signs: Sign[] = [];
  const pending = [...events].sort((a, b) => a.afterIndex - b.afterIndex || a.atMs - b.atMs || order(a) - order(b));
  let nextEvent = 0;
  const eventsUpTo = (index: number): void => {
    for (; (pending[nextEvent]?.afterIndex ?? Number.POSITIVE_INFINITY) < index; nextEvent++) {
      const { kind, atMs, error } = present(pending[nextEvent]);
      signs.push({ kind: kind === "paused" ? "paused" : "failed", atMs, failure: error });
    }
  };
  for (const [index, { type, appendedAtMs }] of entries.entries()) {
    eventsUpTo(index);
    if (type === MessageType.Input || appendedAtMs < sinceMs) continue;
    const isAct = type < 0x8000 || type === MessageType.RunCompletion;
    signs.push({ kind: isAct ? "act" : "notification", atMs: appendedAtMs, failure: undefined });
  }
  eventsUpTo(Number.POSITIVE_INFINITY);
  return signs;
}

/** Merges signs and moves in the order of time. */
function follow(walk: StretchReader, signs: readonly Sign[], moves: readonly Move[]): void {
  let next = 0;
  for (const sign of signs) {
    for (let move = moves[next]; move !== undefined && isBefore(move, sign); move = moves[++next]) walk.move(move);
    walk.see(sign);
  }
  for (const move of moves.slice(next)) walk.move(move);
}

/** Order of events of one moment: a pause is stored behind the failure that led to it. */
function order({ kind }: JournalEvent): number {
  return kind === "paused" ? 1 : 0;
}

// ── the end of the track ─────────────────────────────────────────────────────────────────────────

/** Ends the last stretch according to the present status. */
function finish({ invocation, held, entries }: InvocationSnapshot, walk: StretchReader, endMs: number): void {
  switch (invocation.status) {
    case "completed":
      // The invocation was ended by a request, perhaps in the middle of another attempt.
      if (walk.state === "backingOff" || (walk.state !== "running" && !walk.isNoted)) walk.doubt();
      return walk.end(invocation.milestones.completedAtMs ?? invocation.modifiedAtMs, "completed");
    case "suspended": {
      if (walk.state === "suspended") return walk.end(endMs, "suspended");
      // Later than all journal entries: no notification arrived since, so this is the time of suspension.
      const isExact = invocation.modifiedAtMs > (entries.at(-1)?.appendedAtMs ?? 0);
      const from = isExact ? invocation.modifiedAtMs : Math.min(walk.lastActMs, endMs);
      if (walk.state !== "running") walk.doubt(); // An attempt without another sign ran and suspended.
      walk.enter("suspended", from, isExact, "suspended", undefined);
      return walk.end(endMs, "suspended");
    }
    case "paused":
      if (walk.state !== "paused") walk.enter("paused", invocation.modifiedAtMs, false, "paused", undefined);
      return walk.end(endMs, "paused");
    case "ready":
      if (walk.state === "slot") return walk.end(endMs, "interrupted");
      if (invocation.readyAtMs > walk.lastActMs && walk.state === "running") walk.begunAnew(invocation.readyAtMs);
      walk.enter("slot", invocation.readyAtMs, true, "interrupted", undefined);
      return walk.end(endMs, "interrupted");
    case "invoked":
      return finishInvoked(held, invocation.modifiedAtMs, walk, endMs);
    case "scheduled":
    case "inboxed":
      return walk.end(endMs, "interrupted"); // An invocation with these states has not run yet.
    default:
      return unreachable(invocation);
  }
}

function finishInvoked(held: InvocationSnapshot["held"], modifiedAtMs: number, walk: StretchReader, endMs: number): void {
  const wait = held?.slotWait;
  if (wait !== undefined) {
    if (walk.state !== "slot") walk.enter("slot", wait.sinceMs, true, "interrupted", undefined);
    return walk.end(endMs, "interrupted");
  }
  if (held?.inFlight === true) {
    const startedAtMs = held.lastStartAtMs ?? walk.lastActMs;
    if (walk.state !== "running") {
      walk.doubt(); // Attempts ran between the last stored failure and this one.
      walk.enter("running", startedAtMs, true, "interrupted", undefined);
    } else walk.begunAnew(startedAtMs);
    return walk.end(endMs, "running");
  }
  if (held !== undefined && held.retryCount > 0) {
    if (walk.state !== "backingOff") walk.enter("backingOff", walk.lastActMs, false, "failed", held.lastFailure);
    return walk.end(endMs, "failed");
  }
  if (modifiedAtMs > walk.lastActMs && walk.state === "running") walk.begunAnew(modifiedAtMs);
  walk.enter("slot", Math.max(modifiedAtMs, walk.lastActMs), false, "interrupted", undefined);
  walk.end(endMs, "interrupted");
}

/** The gaps that were suspensions: as many as the run number allows, the longest first. */
function suspensionsIn(walk: StretchReader, { invocation }: InvocationSnapshot): ReadonlySet<Gap> {
  const moves = movesOf(invocation.milestones);
  // An invocation that waits for a slot was resumed and has not begun its next run.
  const isWoken = invocation.status === "ready" && moves.length === 0;
  const resumed = invocation.run - 1 - resumptionsIn(moves) + (isWoken ? 1 : 0);
  const count = Math.max(0, resumed - walk.resumedPauses);
  const gaps = walk.stretches.flatMap((each) => each.gaps);
  gaps.sort((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs));
  return new Set(gaps.slice(0, count));
}

const PHASES: Readonly<Record<Stretch["state"], readonly [InvocationPhase, WaitsFor]>> = {
  running: ["running", undefined],
  backingOff: ["backingOff", "retry"],
  paused: ["paused", "resume"],
  suspended: ["suspended", "notification"],
  slot: ["queued", "slot"],
};

/** Whether all moves are stored and no failure was overwritten: each run overwrites the failures of earlier runs. */
function remembersAll({ invocation, events }: InvocationSnapshot): boolean {
  const failures = events.filter(({ kind }) => kind !== "paused").length;
  const hasAllFailures = failures === 0 || (invocation.run <= 1 && failures < EVENT_SLOTS);
  return hasAllFailures && resumptionsIn(movesOf(invocation.milestones)) === invocation.run - 1;
}

function layDown(walk: StretchReader, suspensions: ReadonlySet<Gap>, idleMs: number, isComplete: boolean, track: Track): void {
  const attempts: TimelineAttempt[] = walk.silentFailures.map(({ atMs, failure }) => ({
    startedAtMs: undefined,
    endedAtMs: track.clamp(atMs),
    outcome: "failed",
    failure,
    inferred: true,
  }));
  let startIsExact = true;
  for (const { state, toMs, endIsExact, isSure, gaps, ending, failure } of walk.stretches) {
    const [phase, waitsFor] = PHASES[state];
    let startedAtMs = track.cursor;
    for (const gap of state === "running" ? gaps : []) {
      const suspendedAtMs = gap.fromMs + idleMs;
      if (!suspensions.has(gap) || suspendedAtMs >= gap.toMs) continue;
      track.cut(suspendedAtMs, "running", undefined, false, false);
      attempts.push({ startedAtMs, endedAtMs: track.cursor, outcome: "suspended", failure: undefined, inferred: true });
      track.cut(gap.toMs, "suspended", "notification", false, false);
      startedAtMs = track.cursor;
      startIsExact = false;
    }
    // The beginning of the present state is stored; a run that ends at this moment may hide an earlier attempt.
    const isPresent = toMs === track.endMs && (state !== "running" || ending === "running");
    track.cut(toMs, phase, waitsFor, endIsExact, isSure && (isComplete || isPresent));
    // When the suspension lasted until the next attempt, nothing is left of this one.
    if (state === "running" && (ending !== "interrupted" || track.cursor > startedAtMs)) {
      const endedAtMs = ending === "running" ? undefined : track.cursor;
      attempts.push({ startedAtMs, endedAtMs, outcome: ending, failure, inferred: !startIsExact || !endIsExact });
    }
    startIsExact = endIsExact;
  }
  attempts.sort((a, b) => (a.endedAtMs ?? Number.POSITIVE_INFINITY) - (b.endedAtMs ?? Number.POSITIVE_INFINITY));
  for (const attempt of attempts) track.attempts.push(attempt);
}
