/** From waiting to running: the lock for exclusive handlers, then a run handed to the invoker. */
import type { JournalEntry } from "../entry.js";
import type { Inboxed, InFlight, Invocation, Invoked, Scheduled } from "../invocation.js";
import { takeLockOrQueue } from "../lock/lock.js";
import { isExclusive } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

/** Hand an invocation to the invoker under a new run number; commands of earlier runs are late from now on. */
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
    milestones: first ? { ...from.milestones, runningAtMs: out.nowMs } : from.milestones,
    pauseRequested: false,
  };
  out.mutate({ kind: "putInvocation", invocation });
  out.effect({ kind: "startRun", invocation, firstEntries });
  return invocation;
}

/** Its time has come: run, or queue behind the holder of the object's lock. */
export function begin(
  view: PartitionView,
  from: Scheduled,
  firstEntries: readonly JournalEntry[] | undefined,
  out: Transition,
): Invocation {
  const target = from.facts.target;
  if (!isExclusive(target)) return startRun(out, from, firstEntries);
  const seat = takeLockOrQueue(view, target.service, target.key, { kind: "invocation", id: from.facts.id }, out);
  if (seat.kind === "locked") return startRun(out, from, firstEntries);
  const inboxed: Inboxed = {
    ...from,
    status: "inboxed",
    waitsFor: "lock",
    inboxSeq: seat.seq,
    modifiedAtMs: out.nowMs,
    milestones: { ...from.milestones, inboxedAtMs: out.nowMs },
  };
  out.mutate({ kind: "putInvocation", invocation: inboxed });
  return inboxed;
}
