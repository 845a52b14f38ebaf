/**
 * Why: every millisecond of an invocation's life belongs to exactly one phase, so that the durations add up to the wall time. What
 * is stored says most of it exactly; the rest is inferred and marked so.
 *
 *     created ─ delayed ─ queued ─▶ running ◀──▶ suspended | backingOff | paused ─▶ completed
 *               └─ milestones ─┘    └─ commands, failures, notifications of the journal ─┘
 *
 * Not stored: when an attempt began (but for the present one), and of an invocation that stopped often (or was stored by an older
 * server) the first moves between running, suspended, paused and waiting for a slot. A back-off is therefore said to end with the
 * first word of the next attempt, and where moves are missing, the longest of the gaps that ended with a notification count as
 * suspended: as many as the run number says it was resumed.
 */
import { unreachable } from "@perdure/base";
import {
  type AttemptError,
  EVENT_SLOTS,
  isExclusive,
  type JournalEvent,
  type Move,
  type MoveState,
  movesOf,
  resumptionsIn,
} from "@perdure/partition";
import { MessageType } from "@perdure/service-protocol";
import type { InvocationSnapshot } from "./facts.js";

export type InvocationPhase = "delayed" | "queued" | "running" | "suspended" | "backingOff" | "paused" | "completed";

/** What somebody in that phase waits for; `delivery` is the way from submission to the first run. */
export type WaitsFor = "startTime" | "delivery" | "lock" | "slot" | "notification" | "retry" | "resume" | undefined;

export interface PhaseSegment {
  readonly phase: InvocationPhase;
  readonly waitsFor: WaitsFor;
  readonly fromMs: number;
  readonly toMs: number;
  /** One of its ends, or the phase itself, is not stored but derived. */
  readonly inferred: boolean;
}

/** One run of the handler over one stream. */
export interface TimelineAttempt {
  /** Undefined when only its end is known. */
  readonly startedAtMs: number | undefined;
  /** Undefined while it runs. */
  readonly endedAtMs: number | undefined;
  readonly outcome: "running" | "failed" | "suspended" | "paused" | "completed" | "interrupted";
  readonly failure: AttemptError | undefined;
  readonly inferred: boolean;
}

export interface Phases {
  /** Without gaps and overlaps from the creation to `nowMs`; segments of no length are left out. */
  readonly segments: readonly PhaseSegment[];
  readonly attempts: readonly TimelineAttempt[];
}

/** `idleMs`: how long a handler that waits keeps its stream before it suspends; undefined counts as not at all. */
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

// ── the line of time ─────────────────────────────────────────────────────────────────────────────

/** Lays segments one after the other; a time before the last one or after the end cannot break the line. */
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

  /** From where the line ends to `toMs`. `isExact`: it ended just then; `isSure`: it was nothing else in between. */
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

/** Objects cannot be scoped, so exclusive handlers queue for their object and everything else for a slot. */
function queueOf(invocation: InvocationSnapshot["invocation"]): WaitsFor {
  if (invocation.status === "inboxed") return invocation.waitsFor;
  return isExclusive(invocation.facts.target) ? "lock" : "slot";
}

// ── signs of life ────────────────────────────────────────────────────────────────────────────────

/** `act`: the handler did something · `news`: something arrived for it · the others are events beside the journal. */
interface Sign {
  readonly kind: "act" | "news" | "failed" | "paused";
  readonly atMs: number;
  readonly failure: AttemptError | undefined;
}

/** The way from the partition to the invoker, at most. */
const HANDOVER_MS = 100;

/** In the order in which they were stored; what happened before the first run (of a restarted journal, of early signals) is left out. */
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
    signs.push({ kind: isAct ? "act" : "news", atMs: appendedAtMs, failure: undefined });
  }
  eventsUpTo(Number.POSITIVE_INFINITY);
  return signs;
}

/** Signs and moves in the order of time. */
function follow(walk: StretchReader, signs: readonly Sign[], moves: readonly Move[]): void {
  let next = 0;
  for (const sign of signs) {
    for (let move = moves[next]; move !== undefined && isBefore(move, sign); move = moves[++next]) walk.move(move);
    walk.see(sign);
  }
  for (const move of moves.slice(next)) walk.move(move);
}

/** In the same millisecond, what arrived came before it went on, and what it did after that; it stopped after everything. */
function isBefore({ state, atMs }: Move, sign: Sign): boolean {
  if (atMs !== sign.atMs) return atMs < sign.atMs;
  return (state === "running" || state === "slot") && (sign.kind === "act" || sign.kind === "failed");
}

/** How the attempt ended, if the handler ran before the move. */
const ENDING_OF_MOVE: Readonly<Record<MoveState, TimelineAttempt["outcome"]>> = {
  running: "suspended", // And had what it waited for at once.
  suspended: "suspended",
  slot: "interrupted",
  paused: "paused",
};

/** A pause is stored behind the failure that led to it. */
function order({ kind }: JournalEvent): number {
  return kind === "paused" ? 1 : 0;
}

/** A stretch in one state. Running ones may hold gaps that ended with news. */
interface Stretch {
  readonly state: "running" | "backingOff" | "paused" | "suspended" | "slot";
  readonly fromMs: number;
  toMs: number;
  endIsExact: boolean;
  /** False: an attempt without any other sign than its failure ran in between. */
  isSure: boolean;
  readonly gaps: Gap[];
  ending: TimelineAttempt["outcome"];
  failure: AttemptError | undefined;
}

/** The handler did nothing from `fromMs` on, until something arrived at `toMs`. */
interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Reads signs one after the other into stretches. */
class StretchReader {
  readonly stretches: Stretch[] = [];
  /** Attempts that failed without having shown any other sign: only their end is known. */
  readonly silentFailures: { readonly atMs: number; readonly failure: AttemptError | undefined }[] = [];
  #open: Stretch;
  #lastActMs: number;
  #lastChangeMs: number | undefined;
  /** Pauses that ended, as far as moves are missing. */
  resumedPauses = 0;
  /** A move was seen: from there on, nothing else stops or goes on. */
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
    if (this.state === "backingOff" && state !== "slot") this.doubt(); // It ran before it moved: an attempt without another sign.
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
      case "news":
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
        // In events of earlier versions a pause that was asked for during a back-off repeats the last failure and takes its place.
        if (this.state === "backingOff" && this.#open.fromMs === atMs) this.stretches.at(-1)!.isSure = false;
        if (this.state !== "paused") this.enter("paused", atMs, true, "paused", undefined);
        return;
    }
  }

  /** Ends the stretch at hand and begins another. `ending` is what became of the attempt when it was a running one. */
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

  /** The last stretch ends here; nothing may be seen afterwards. */
  end(atMs: number, ending: TimelineAttempt["outcome"]): void {
    if (this.state === "running" && ending !== "running") this.#closeGap();
    const open = this.#open;
    open.toMs = Math.max(atMs, open.fromMs);
    open.endIsExact = true;
    open.ending = ending;
    this.stretches.push(open);
  }

  /**
   * The present attempt began at `atMs` and runs since: it was never suspended, and what lies before is another attempt. Right after
   * the run was handed over it is the same one.
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

  /** Something else may have happened in the stretch at hand. */
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

// ── the end of the line ──────────────────────────────────────────────────────────────────────────

/** What the present status says about the last stretch. */
function finish({ invocation, held, entries }: InvocationSnapshot, walk: StretchReader, endMs: number): void {
  switch (invocation.status) {
    case "completed":
      // It was ended from outside, perhaps in the middle of another attempt.
      if (walk.state === "backingOff" || (walk.state !== "running" && !walk.isNoted)) walk.doubt();
      return walk.end(invocation.milestones.completedAtMs ?? invocation.modifiedAtMs, "completed");
    case "suspended": {
      if (walk.state === "suspended") return walk.end(endMs, "suspended");
      // Later than anything in the journal: nothing came in since, and this is when it suspended.
      const isExact = invocation.modifiedAtMs > (entries.at(-1)?.appendedAtMs ?? 0);
      const from = isExact ? invocation.modifiedAtMs : Math.min(walk.lastActMs, endMs);
      if (walk.state !== "running") walk.doubt(); // An attempt without another sign has suspended.
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
      return walk.end(endMs, "interrupted"); // Neither has a first run behind it.
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
      walk.doubt(); // Attempts between the last failure that is remembered and this one.
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
  // One that waits for a slot was woken and has not begun its next run.
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

/** All moves are there, and no failure was written over: each run begins to write over those of the runs before. */
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
    // What goes on now began when it is said to; a run that ends this moment may hide what lies before.
    const isPresent = toMs === track.endMs && (state !== "running" || ending === "running");
    track.cut(toMs, phase, waitsFor, endIsExact, isSure && (isComplete || isPresent));
    // After a suspension that lasted until the next attempt, nothing is left of this one.
    if (state === "running" && (ending !== "interrupted" || track.cursor > startedAtMs)) {
      const endedAtMs = ending === "running" ? undefined : track.cursor;
      attempts.push({ startedAtMs, endedAtMs, outcome: ending, failure, inferred: !startIsExact || !endIsExact });
    }
    startIsExact = endIsExact;
  }
  attempts.sort((a, b) => (a.endedAtMs ?? Number.POSITIVE_INFINITY) - (b.endedAtMs ?? Number.POSITIVE_INFINITY));
  for (const attempt of attempts) track.attempts.push(attempt);
}
