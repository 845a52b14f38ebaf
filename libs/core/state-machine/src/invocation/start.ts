/** Starts invocations: the lock for exclusive handlers, a slot in scopes with rules, then a run handed to the invoker. */
import type { JournalEntry } from "../entry.js";
import type { Inboxed, InFlight, Invocation, Invoked, Paused, Ready, Scheduled, Suspended } from "../invocation.js";
import { takeLockOrQueue } from "../lock/lock.js";
import { expireBeforeShared } from "../state/expiry.js";
import { hasState, isExclusive, isSlotted, keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { withMove } from "./moves.js";

/** Hands an invocation to the invoker under a new run number; commands of earlier runs are late from now on. */
export function startRun(
  out: Transition,
  from: Scheduled | Inboxed | InFlight,
  firstEntries: readonly JournalEntry[] | undefined,
): Invoked {
  const first = from.milestones.runningAtMs === undefined;
  const invocation: Invoked = {
    status: "invoked",
    facts: from.facts,
    modifiedAtMs: out.nowMs,
    run: from.run + 1,
    pinned: from.pinned,
    journal: from.journal,
    sinks: from.sinks,
    milestones: first ? { ...from.milestones, runningAtMs: out.nowMs } : withMove(from.milestones, "running", out.nowMs),
    pauseRequested: false,
  };
  out.mutate({ kind: "putInvocation", invocation });
  if (from.status !== "invoked" && isSlotted(from.facts.target)) out.effect({ kind: "takeSlot", invocation });
  out.effect({ kind: "startRun", invocation, firstEntries });
  return invocation;
}

/** Starts an invocation that is due: it runs, or queues for the object's lock or for a slot. */
export function begin(
  view: PartitionView,
  from: Scheduled,
  firstEntries: readonly JournalEntry[] | undefined,
  out: Transition,
): Invocation {
  const { id, target, limitKey } = from.facts;
  if (isExclusive(target)) {
    const lockResult = takeLockOrQueue(view, keyspaceOf(target), target.key, { kind: "invocation", id }, out);
    return lockResult.kind === "locked" ? startRun(out, from, firstEntries) : enqueue(from, "lock", lockResult.seq, out);
  }
  if (hasState(target)) expireBeforeShared(view, keyspaceOf(target), target.key, out);
  if (!isSlotted(target) || !view.isGated(target, limitKey)) return startRun(out, from, firstEntries);
  const inboxed = enqueue(from, "slot", 0, out);
  out.effect({ kind: "requestSlot", invocation: inboxed });
  return inboxed;
}

function enqueue(from: Scheduled, waitsFor: Inboxed["waitsFor"], inboxSeq: number, out: Transition): Inboxed {
  const inboxed: Inboxed = {
    status: "inboxed",
    facts: from.facts,
    modifiedAtMs: out.nowMs,
    run: from.run,
    pinned: from.pinned,
    journal: from.journal,
    sinks: from.sinks,
    milestones: { ...from.milestones, inboxedAtMs: out.nowMs },
    waitsFor,
    inboxSeq,
  };
  out.mutate({ kind: "putInvocation", invocation: inboxed });
  return inboxed;
}

/** Continues an invocation that has released its slot: it runs, or waits for a slot again. */
export function wake(view: PartitionView, from: Suspended | Paused, out: Transition): Invocation {
  const { target, limitKey } = from.facts;
  if (!isSlotted(target) || !view.isGated(target, limitKey)) return startRun(out, from, undefined);
  const ready: Ready = {
    status: "ready",
    facts: from.facts,
    modifiedAtMs: out.nowMs,
    run: from.run,
    pinned: from.pinned,
    journal: from.journal,
    sinks: from.sinks,
    milestones: withMove(from.milestones, "slot", out.nowMs),
    readyAtMs: out.nowMs,
  };
  out.mutate({ kind: "putInvocation", invocation: ready });
  out.effect({ kind: "requestSlot", invocation: ready });
  return ready;
}

/** The invocation leaves a state in which it runs or waits to run: its slot is released to the scope. */
export function letGoOfSlot(out: Transition, { status, facts }: Invocation): void {
  if (!isSlotted(facts.target)) return;
  if (status === "invoked") out.effect({ kind: "releaseSlot", id: facts.id });
  else if (status === "ready" || status === "inboxed") out.effect({ kind: "withdraw", id: facts.id });
}
