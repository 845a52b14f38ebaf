/**
 * Decides what a schedule should do now, as a pure function of its state. It is called again after each of its decisions is carried out
 * and recorded, so that a crash anywhere in between leads to the same decision, and the same decision to the same invocation.
 */
import { type InvocationId, present, unreachable } from "@perdure/base";
import { MISSED_COUNTED_MAX, OVERDUE_AFTER_MS, TURN_FIRINGS_MAX } from "./limits.js";
import type { FiringCause, Schedule } from "./schedule.js";
import { dueAt, firingsLeft, nominalAfter } from "./upcoming.js";

/** Status of the run in `state.active`; a caller that cannot determine it passes `running` and decides again when it can. */
export type PreviousRun = "running" | "ended";

export type ScheduleAction =
  /** Submits the invocation of this time. */
  | { readonly kind: "fire"; readonly nominalMs: number; readonly cause: Exclude<FiringCause, "manual"> }
  | { readonly kind: "skip"; readonly nominalMs: number }
  /** Keeps the time until the previous run has ended. */
  | { readonly kind: "queue"; readonly nominalMs: number }
  | { readonly kind: "cancel"; readonly invocationId: InvocationId }
  | { readonly kind: "miss"; readonly count: number; readonly throughMs: number }
  | { readonly kind: "endRun"; readonly invocationId: InvocationId };

/**
 * Actions in the order to carry out. `nextCheckAtMs`: when to decide again if nothing else happens; at or before now: as soon as the actions
 * are recorded.
 */
interface Decision {
  readonly actions: readonly ScheduleAction[];
  readonly nextCheckAtMs: number | undefined;
}

/** `triedMs`: a time that may have been submitted without a response; it is submitted again, however late it has become. */
export function decide(schedule: Schedule, nowMs: number, previous: PreviousRun, triedMs: number | undefined): Decision {
  const { record, state } = schedule;
  const turn = new Turn(schedule, nowMs);
  if (state.active !== undefined) {
    if (previous === "ended") turn.actions.push({ kind: "endRun", invocationId: state.active.invocationId });
    else turn.running = state.active.invocationId;
  }
  if (state.isPaused) return { actions: turn.actions, nextCheckAtMs: undefined };
  if (state.queue.length > 0 && (turn.running === undefined || record.overlap.kind === "allow")) {
    turn.fire(present(state.queue[0]), "queued");
    return { actions: turn.actions, nextCheckAtMs: nowMs };
  }
  if (triedMs !== undefined && turn.next() === triedMs) {
    turn.take(triedMs, "due");
    return { actions: turn.actions, nextCheckAtMs: nowMs };
  }
  return { actions: turn.actions, nextCheckAtMs: takeTimes(turn) };
}

/** Collects the actions; the fields are the state after these actions. */
class Turn {
  readonly schedule: Schedule;
  readonly nowMs: number;
  readonly actions: ScheduleAction[] = [];
  running: InvocationId | undefined = undefined;
  /** Fired under a policy that allows one run at a time: the next step depends on the result of the submission. */
  isOver = false;
  hasMissed = false;
  decidedThroughMs: number;
  left: number;
  queue: readonly number[];

  constructor(schedule: Schedule, nowMs: number) {
    this.schedule = schedule;
    this.nowMs = nowMs;
    this.decidedThroughMs = schedule.state.decidedThroughMs;
    this.left = firingsLeft(schedule);
    this.queue = schedule.state.queue;
  }

  fire(nominalMs: number, cause: Exclude<FiringCause, "manual">): void {
    this.actions.push({ kind: "fire", nominalMs, cause });
    this.left--;
    this.isOver = this.schedule.record.overlap.kind !== "allow";
  }

  miss(count: number, throughMs: number): void {
    this.actions.push({ kind: "miss", count, throughMs });
    this.hasMissed = true;
    this.decidedThroughMs = Math.max(this.decidedThroughMs, throughMs);
  }

  /** Decides a time that is due. */
  take(nominalMs: number, cause: "due" | "caughtUp"): void {
    this.decidedThroughMs = nominalMs;
    const { overlap } = this.schedule.record;
    if (this.running === undefined) return this.fire(nominalMs, cause);
    switch (overlap.kind) {
      case "allow":
        return this.fire(nominalMs, cause);
      case "skip":
        this.actions.push({ kind: "skip", nominalMs });
        return;
      case "queue":
        if (this.queue.length < overlap.max) this.#enqueue(nominalMs, this.queue);
        else this.actions.push({ kind: "skip", nominalMs });
        return;
      case "cancelPrevious": {
        this.actions.push({ kind: "cancel", invocationId: this.running });
        for (const displaced of this.queue) this.actions.push({ kind: "skip", nominalMs: displaced });
        this.left += this.queue.length;
        this.#enqueue(nominalMs, []);
        return;
      }
      default:
        return unreachable(overlap);
    }
  }

  #enqueue(nominalMs: number, before: readonly number[]): void {
    this.actions.push({ kind: "queue", nominalMs });
    this.queue = [...before, nominalMs];
    this.left--;
  }

  /** Returns the next undecided time. */
  next(): number | undefined {
    return this.left > 0 ? nominalAfter(this.schedule, this.decidedThroughMs) : undefined;
  }
}

function takeTimes(turn: Turn): number | undefined {
  const { schedule, nowMs } = turn;
  const overdueBeforeMs = nowMs - OVERDUE_AFTER_MS - schedule.record.jitterMs;
  passOverMissed(turn, overdueBeforeMs);
  // To be recorded first: then the fired time is the first undecided one, and is the same after a crash.
  if (turn.hasMissed) return nowMs;
  for (;;) {
    const nominalMs = turn.next();
    if (nominalMs === undefined) return undefined;
    const due = nominalMs < overdueBeforeMs ? nominalMs : dueAt(schedule, nominalMs);
    if (due > nowMs) return due;
    if (turn.isOver || turn.actions.length >= TURN_FIRINGS_MAX) return nowMs;
    turn.take(nominalMs, nominalMs < overdueBeforeMs ? "caughtUp" : "due");
  }
}

/** Decides times before `overdueBeforeMs`; those that the policy still fires are left for the caller. */
function passOverMissed(turn: Turn, overdueBeforeMs: number): void {
  const first = turn.next();
  if (first === undefined || first >= overdueBeforeMs) return;
  const { catchUp } = turn.schedule.record;
  switch (catchUp.kind) {
    case "none":
      return missBefore(turn, overdueBeforeMs);
    case "last":
      return missBefore(turn, oldestOf(turn, overdueBeforeMs, 1, turn.decidedThroughMs));
    case "all":
      return missBefore(turn, oldestOf(turn, overdueBeforeMs, catchUp.max, turn.nowMs - catchUp.windowMs));
    default:
      return unreachable(catchUp);
  }
}

/** Returns the oldest of the last `most` times before `beforeMs`, none of them before `floorMs`; `beforeMs` itself when there is none. */
function oldestOf({ schedule, decidedThroughMs }: Turn, beforeMs: number, most: number, floorMs: number): number {
  const { record, times } = schedule;
  const floor = Math.max(decidedThroughMs, floorMs, (record.startAtMs ?? Number.NEGATIVE_INFINITY) - 1);
  let oldest = record.endAtMs === undefined ? beforeMs : Math.min(beforeMs, record.endAtMs + 1);
  for (let count = 0; count < most; count++) {
    const previous = times.previous(oldest, floor);
    if (previous === undefined) break;
    oldest = previous;
  }
  return oldest;
}

/** Marks every undecided time before `boundMs` as missed. The count is limited, the decision is not. */
function missBefore(turn: Turn, boundMs: number): void {
  let count = 0;
  let at = nominalAfter(turn.schedule, turn.decidedThroughMs);
  while (at !== undefined && at < boundMs && count < MISSED_COUNTED_MAX) {
    count++;
    at = nominalAfter(turn.schedule, at);
  }
  if (count > 0) turn.miss(count, boundMs - 1);
}
