/**
 * Undoes what an operation did to an invocation. One that was killed or cancelled continues from its journal under a new run number: it
 * takes its lock and its slot again or waits for them, and what it had called is restored too. One that was purged is stored again.
 */
import type { TimerKey, Undo } from "../command.js";
import type { UndoAnswer } from "../effect.js";
import { addSink, deleteRetentionTimers, isWaitedForBy, notifySink } from "../invocation/outcome.js";
import { begin } from "../invocation/start.js";
import {
  type Completed,
  generationMark,
  type Invocation,
  type JournalProgress,
  type Outcome,
  type Paused,
  type Scheduled,
  type Sink,
} from "../invocation.js";
import { takeLockOrQueue } from "../lock/lock.js";
import { isExclusive, isWorkflowRun, keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { progressOf, resumedJournal } from "./journal.js";
import { undoPause, undoResume } from "./pause.js";
import { armSleeps, awaitPromises, undoCallees } from "./pending.js";
import type { UndoNote, UndoRecord } from "./rows.js";
import { undoStateEdit } from "./state-edit.js";

const KILLED: Outcome = Object.freeze({
  kind: "failure",
  failure: { code: 409, message: "killed", metadata: [] },
  stacktrace: undefined,
});

export function undo(view: PartitionView, command: Undo, out: Transition): void {
  const note = view.undo?.note(command.id, command.operation);
  if (view.undo === undefined || note === undefined) return refuse(view, command, note, "notKept", out);
  if (note.isUndone) {
    const present = view.invocation(command.id);
    // Without its row the restored invocation has ended since, and has notified its callers.
    if (command.sink !== undefined && present !== undefined && !isLater(present, note)) attachAgain(present, command.sink, out);
    return reply(out, "alreadyUndone");
  }
  if (note.untilMs <= out.nowMs) return refuse(view, command, note, "expired", out);
  if (note.kind === "stateEdited") return undoEdit(view, note, out);
  const record = view.undo.record(note);
  if (record === undefined) return refuse(view, command, note, "notKept", out);
  const present = view.invocation(command.id);
  if (note.kind === "paused" || note.kind === "resumed") return undoStop(view, note, record, present, out);
  if (present !== undefined && !isLeftOver(present, note, record)) return refuse(view, command, note, "conflict", out);

  if (present !== undefined) removeLeftOver(present, out);
  restoreWorkflow(view, record, out);
  if (note.kind === "purged") restoreCompleted(record, out);
  else restoreEnded(view, command, note, record, out);
  view.undo.markUndone(note);
  const { sinks, facts } = record.invocation;
  const isEnded = note.kind === "ended";
  reply(out, "undone", isEnded ? sinks.map(({ callerId }) => callerId) : [], isEnded && facts.source.kind === "ingress");
}

function undoEdit(view: PartitionView, note: UndoNote, out: Transition): void {
  const record = view.undo?.stateEdit(note);
  if (record === undefined) return reply(out, "notKept");
  const result = undoStateEdit(view, note, record, out);
  if (result === "conflict") return reply(out, "conflict");
  view.undo?.markUndone(note);
  const isWaiting = result === "waiting";
  out.effect({ kind: "reply", answer: { kind: "undo", result: "undone", notified: [], isClientNotified: false, isWaiting } });
}

function undoStop(
  view: PartitionView,
  note: UndoNote,
  record: UndoRecord,
  present: Invocation | undefined,
  out: Transition,
): void {
  const isUsedAgain = present !== undefined && isLater(present, note);
  const isUndone =
    !isUsedAgain && (note.kind === "paused" ? undoPause(view, note, record, present, out) : undoResume(view, present, out));
  if (isUndone) view.undo?.markUndone(note);
  reply(out, isUndone ? "undone" : "conflict");
}

function reply(
  out: Transition,
  result: UndoAnswer["result"],
  notified: UndoAnswer["notified"] = [],
  isClientNotified = false,
): void {
  out.effect({ kind: "reply", answer: { kind: "undo", result, notified, isClientNotified } });
}

/** A restored caller must not wait for ever: it gets the outcome, now or later, or the failure that its callee ended with. */
function refuse(
  view: PartitionView,
  { id, sink }: Undo,
  note: UndoNote | undefined,
  result: UndoAnswer["result"],
  out: Transition,
): void {
  if (sink !== undefined) {
    const present = view.invocation(id);
    // The operation left it alone: the sink shows that it is the generation that its caller waits for.
    if (present !== undefined && isWaitedForBy(present, sink)) return reply(out, result);
    if (present === undefined || isLater(present, note)) notifySink(out, sink, KILLED, { mayRepeat: true });
    else attachAgain(present, sink, out);
  }
  reply(out, result);
}

/** The caller may have been notified before: the first completion counts. */
function attachAgain(present: Invocation, sink: Sink, out: Transition): void {
  if (present.status === "completed") notifySink(out, sink, present.outcome, { mayRepeat: true });
  else addSink(present, sink, out);
}

/**
 * Whether the id was used again after the operation. Without a note only an invocation in flight shows that: the one that the operation
 * reached has ended.
 */
function isLater({ facts, status }: Invocation, note: UndoNote | undefined): boolean {
  const present = generationMark(facts);
  if (present === undefined) return false;
  return note === undefined ? status !== "completed" : note.generation !== present;
}

/** Whether the row is what the operation left of the invocation, rather than a later generation of its id. */
function isLeftOver(present: Invocation, note: UndoNote, { invocation }: UndoRecord): present is Completed {
  return note.kind === "ended" && present.status === "completed" && present.facts.createdAtMs === invocation.facts.createdAtMs;
}

function removeLeftOver(present: Completed, out: Transition): void {
  deleteRetentionTimers(present, out);
  const { id } = present.facts;
  if (present.journal.length > 0) out.mutate({ kind: "deleteJournal", id, length: present.journal.length });
  if (present.journal.hasEvents) out.mutate({ kind: "deleteEvents", id });
  // Stores keep rows of completed invocations apart: the restored one does not replace this one.
  out.mutate({ kind: "deleteInvocation", id });
}

function restoreWorkflow(view: PartitionView, { invocation, state, promises }: UndoRecord, out: Transition): void {
  const { target } = invocation.facts;
  if (!isWorkflowRun(target)) return;
  const service = keyspaceOf(target);
  for (const { key, value } of state) out.mutate({ kind: "putState", service, key: target.key, stateKey: key, value });
  for (const { name, promise } of promises) {
    const present = view.promise(service, target.key, name);
    if (present === undefined) out.mutate({ kind: "putPromise", service, key: target.key, name, promise });
  }
}

function restoreCompleted({ invocation, journal }: UndoRecord, out: Transition): void {
  if (invocation.status !== "completed") return;
  const { facts, milestones } = invocation;
  const { id, completionRetentionMs, journalRetentionMs } = facts;
  for (const [index, entry] of journal.entries()) out.mutate({ kind: "appendEntry", id, index, entry });
  out.mutate({ kind: "putInvocation", invocation: { ...invocation, journal: progressOf(journal) } });
  const at = milestones.completedAtMs ?? out.nowMs;
  arm(out, { dueAtMs: at + completionRetentionMs, kind: "purge", id, sequence: 0 });
  if (journalRetentionMs > 0 && journalRetentionMs < completionRetentionMs) {
    arm(out, { dueAtMs: at + journalRetentionMs, kind: "purgeJournal", id, sequence: 0 });
  }
}

function restoreEnded(view: PartitionView, command: Undo, note: UndoNote, record: UndoRecord, out: Transition): void {
  const before = record.invocation;
  const { id } = before.facts;
  const arrived = Array.from({ length: note.deferredCount }, (_, index) => view.undo?.deferred(note, index));
  const entries = awaitPromises(view, before, resumedJournal(record.journal, arrived), out);
  for (const [index, entry] of entries.entries()) out.mutate({ kind: "appendEntry", id, index, entry });
  continueFrom(view, withSink(scheduledFrom(before, progressOf(entries), out), command), before, out);
  armSleeps(view, id, entries, out);
  undoCallees(before, command.operation, entries, out);
}

function scheduledFrom(
  { facts, run, pinned, sinks, milestones }: Invocation,
  journal: JournalProgress,
  out: Transition,
): Scheduled {
  return {
    status: "scheduled",
    facts,
    modifiedAtMs: out.nowMs,
    run,
    pinned,
    journal,
    sinks,
    milestones: { ...milestones, completedAtMs: undefined, restoredAtMs: out.nowMs },
  };
}

function withSink(invocation: Scheduled, { sink }: Undo): Scheduled {
  if (sink === undefined) return invocation;
  return isWaitedForBy(invocation, sink) ? invocation : { ...invocation, sinks: [...invocation.sinks, sink] };
}

function continueFrom(view: PartitionView, from: Scheduled, before: Invocation, out: Transition): void {
  const { id, executionTimeMs, target } = from.facts;
  if (before.status === "scheduled") {
    out.mutate({ kind: "putInvocation", invocation: from });
    return arm(out, { dueAtMs: executionTimeMs ?? 0, kind: "start", id, sequence: 0 });
  }
  const isPaused = before.status === "paused" || (before.status === "invoked" && before.pauseRequested);
  // Behind another holder of the lock it waits in the queue, and then runs: a paused invocation holds its lock.
  if (!isPaused || (isExclusive(target) && view.lock(keyspaceOf(target), target.key) !== undefined)) {
    begin(view, from, undefined, out);
    return;
  }
  if (isExclusive(target)) {
    const lockResult = takeLockOrQueue(view, keyspaceOf(target), target.key, { kind: "invocation", id }, out);
    if (lockResult.kind === "queued") {
      const inboxed = { ...from, status: "inboxed", waitsFor: "lock", inboxSeq: lockResult.seq } as const;
      return out.mutate({ kind: "putInvocation", invocation: inboxed });
    }
  }
  const paused: Paused = { ...from, status: "paused" };
  out.mutate({ kind: "putInvocation", invocation: paused });
}

function arm(out: Transition, timer: TimerKey): void {
  out.mutate({ kind: "putTimer", timer });
  out.effect({ kind: "armTimer", timer });
}
