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
import { unreachable } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import {
  type AttemptError,
  EVENT_SLOTS,
  isExclusive,
  type JournalEvent,
  type Move,
  type MoveState,
  movesOf,
  resumptionsIn,
} from "@perdure/state-machine";
import type { InvocationSnapshot } from "./facts.js";

export type InvocationPhase = "delayed" | "queued" | "running" | "suspended" | "backingOff" | "paused" | "completed";

/** What an invocation in that phase waits for; `delivery` is the way from submission to the first run. */
export type WaitsFor = "startTime" | "delivery" | "lock" | "slot" | "notification" | "retry" | "resume" | undefined;

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

export interface Phases {
  /** Without gaps and overlaps from the creation to `nowMs`; empty segments are left out. */
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

// ── signs of activity ────────────────────────────────────────────────────────────────────────────

/**
 * A stored time. `act`: the handler produced a command · `notification`: a notification arrived for it · the others are events beside the journal.
 */
interface Sign {
  readonly kind: "act" | "notification" | "failed" | "paused";
  readonly atMs: number;
  readonly failure: AttemptError | undefined;
}

/** Longest delay between the partition and the invoker. */
const HANDOVER_MS = 100;

/** Signs in the order in which they were stored, without those before the first run (of a restarted journal, of early signals). */
function signsOf({ entries, events }: InvocationSnapshot, sinceMs: number): Sign[] {
  const signs: Sign[] = [];
  const pending = [...events].sort((a, b) => a.afterIndex - b.afterIndex || a.atMs - b.atMs || order(a) - order(b));
  let nextEvent = 0;
  const eventsUpTo = (index: number): void => {
    for (; (pending[nextEvent]?.afterIndex ?? Number.POSITIVE_INFINITY) < index; nextEvent++) {
      const { kind, atMs, error } = pending[nextEvent] as JournalEvent;
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

/** Within one millisecond: notifications precede the move to running, commands follow it, and a stop follows all signs. */
function isBefore({ state, atMs }: Move, sign: Sign): boolean {
  if (atMs !== sign.atMs) return atMs < sign.atMs;
  return (state === "running" || state === "slot") && (sign.kind === "act" || sign.kind === "failed");
}

/** Outcome of the attempt when the handler ran before the move. */
const ENDING_OF_MOVE: Readonly<Record<MoveState, TimelineAttempt["outcome"]>> = {
  running: "suspended", // A suspension whose notification was already there.
  suspended: "suspended",
  slot: "interrupted",
  paused: "paused",
};

/** Order of events of one moment: a pause is stored behind the failure that led to it. */
function order({ kind }: JournalEvent): number {
  return kind === "paused" ? 1 : 0;
}

/** A stretch of time in one state. A running stretch may contain gaps that ended with a notification. */
interface Stretch {
  readonly state: "running" | "backingOff" | "paused" | "suspended" | "slot";
  readonly fromMs: number;
  toMs: number;
  endIsExact: boolean;
  /** False: an attempt without any other sign than its failure ran within the stretch. */
  isSure: boolean;
  readonly gaps: Gap[];
  ending: TimelineAttempt["outcome"];
  failure: AttemptError | undefined;
}

/** The handler produced nothing from `fromMs` on, until a notification arrived at `toMs`. */
interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Converts signs, in order, into stretches. */
class StretchReader {
  readonly stretches: Stretch[] = [];
  /** Failed attempts without any other sign: only their end is stored. */
  readonly silentFailures: { readonly atMs: number; readonly failure: AttemptError | undefined }[] = [];
  #open: Stretch;
  #lastActMs: number;
  #lastChangeMs: number | undefined;
  /** Pauses that ended, in the part of the history without moves. */
  resumedPauses = 0;
  /** A move has been read: from there on the stored moves are complete. */
  #isNoted = false;

  constructor(begunMs: number) {
    this.#open = stretch("running", begunMs);
    this.#lastActMs = begunMs;
  }

  get state(): Stretch["state"] {
    return this.#open.state;
  }

  get isNoted(): boolean {
    return this.#isNoted;
  }

  get lastActMs(): number {
    return this.#lastActMs;
  }

  get lastChangeMs(): number | undefined {
    return this.#lastChangeMs;
  }

  move({ state, atMs }: Move): void {
    if (this.state === "backingOff" && state !== "slot") this.doubt(); // The state was left without a sign in between: an attempt ran before the move.
    if (this.state !== state || state === "running") this.enter(state, atMs, true, ENDING_OF_MOVE[state], undefined);
    this.#isNoted = true;
  }

  see({ kind, atMs, failure }: Sign): void {
    if (this.#isNoted && this.state !== "running" && this.state !== "backingOff" && kind !== "failed") return;
    switch (kind) {
      case "act":
        if (this.state !== "running") this.enter("running", atMs, false, "interrupted", undefined);
        else this.#closeGap();
        this.#lastActMs = Math.max(this.#lastActMs, atMs);
        return;
      case "notification":
        if (this.state === "running") this.#lastChangeMs = atMs;
        return;
      case "failed":
        if (this.state === "running") this.enter("backingOff", atMs, true, "failed", failure);
        else {
          this.silentFailures.push({ atMs, failure });
          this.doubt();
          this.enter("backingOff", atMs, true, "failed", failure);
        }
        return;
      case "paused":
        // In events of earlier versions a pause requested during a back-off repeats the last failure and replaces it.
        if (this.state === "backingOff" && this.#open.fromMs === atMs) this.stretches.at(-1)!.isSure = false;
        if (this.state !== "paused") this.enter("paused", atMs, true, "paused", undefined);
        return;
    }
  }

  /** Ends the current stretch and begins another. `ending` is the outcome of the attempt when the current stretch is a running one. */
  enter(
    state: Stretch["state"],
    atMs: number,
    isExact: boolean,
    ending: TimelineAttempt["outcome"],
    failure: AttemptError | undefined,
  ): void {
    if (this.state === "running") this.#closeGap();
    if (this.state === "paused" && !this.#isNoted) this.resumedPauses++;
    const open = this.#open;
    open.toMs = Math.max(atMs, open.fromMs);
    open.endIsExact = isExact;
    open.ending = ending;
    open.failure = failure;
    this.stretches.push(open);
    this.#open = stretch(state, open.toMs);
    this.#lastActMs = open.toMs;
    this.#lastChangeMs = undefined;
  }

  /** Ends the last stretch; no sign may follow. */
  end(atMs: number, ending: TimelineAttempt["outcome"]): void {
    if (this.state === "running" && ending !== "running") this.#closeGap();
    const open = this.#open;
    open.toMs = Math.max(atMs, open.fromMs);
    open.endIsExact = true;
    open.ending = ending;
    this.stretches.push(open);
  }

  /**
   * The present attempt began at `atMs` and runs since: it was never suspended, and everything before belongs to another attempt. When it
   * began within `HANDOVER_MS` of the handover, it is the same one.
   */
  begunAnew(atMs: number): void {
    const before = this.#open;
    if (atMs - before.fromMs <= HANDOVER_MS) return;
    if (atMs > this.#lastActMs && !this.#isNoted) before.gaps.push({ fromMs: this.#lastActMs, toMs: atMs });
    const gaps = before.gaps.splice(0).filter(({ fromMs }) => fromMs < atMs);
    for (const { fromMs, toMs } of gaps) before.gaps.push({ fromMs, toMs: Math.min(toMs, atMs) });
    before.toMs = atMs;
    before.ending = "interrupted";
    this.stretches.push(before);
    this.#open = stretch("running", atMs);
    this.#lastActMs = Math.max(this.#lastActMs, atMs);
    this.#lastChangeMs = undefined;
  }

  /** Marks the current stretch as uncertain: another attempt may have run in it. */
  doubt(): void {
    this.#open.isSure = false;
  }

  #closeGap(): void {
    const to = this.#lastChangeMs;
    if (to !== undefined && to > this.#lastActMs && !this.#isNoted) this.#open.gaps.push({ fromMs: this.#lastActMs, toMs: to });
    this.#lastChangeMs = undefined;
  }
}

function stretch(state: Stretch["state"], fromMs: number): Stretch {
  return { state, fromMs, toMs: fromMs, endIsExact: true, isSure: true, gaps: [], ending: "running", failure: undefined };
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
