/**
 * Ends an invocation and delivers its outcome: sinks get a notification in their journal, callers in memory an announcement, the
 * object's lock its next holder; retention decides how long the record stays.
 */
import type { OperationId } from "@perdure/base";
import { encodeNotification, MessageType } from "@perdure/service-protocol";
import type { QueryOutput, TimerKey } from "../command.js";
import { publishOutcome } from "../event/publish.js";
import {
  type Completed,
  EMPTY_PROGRESS,
  type InFlight,
  type Invocation,
  isInFlight,
  type Outcome,
  type Sink,
} from "../invocation.js";
import { releaseLock } from "../lock/lock.js";
import { isExclusive, isWorkflowRun, keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { endBurst } from "./debounce.js";
import { letGoOfSlot } from "./start.js";

const NOT_FOUND: Outcome = Object.freeze({
  kind: "failure",
  failure: { code: 404, message: "not found", metadata: [] },
  stacktrace: undefined,
});

/** Notifies one waiting invocation. */
export function notifySink(
  out: Transition,
  sink: Sink,
  outcome: Outcome,
  more: { readonly endedBy?: OperationId | undefined; readonly mayRepeat?: true | undefined } = {},
): void {
  out.send({
    kind: "notify",
    id: sink.callerId,
    generation: sink.callerGeneration,
    type: sink.kind === "call" ? MessageType.CallCompletion : MessageType.AttachInvocationCompletion,
    body: encodeNotification({ kind: "completion", id: sink.completionId }, resultOf(outcome)),
    ...more,
  });
}

/** Converts an outcome to the result of a notification. */
export function resultOf(outcome: Outcome) {
  return outcome.kind === "success"
    ? ({ kind: "value", value: outcome.value } as const)
    : ({ kind: "failure", failure: outcome.failure } as const);
}

/** Sends the outcome to `sink` now if there is one, otherwise when there is. */
export function addSink(invocation: Invocation, sink: Sink, out: Transition): void {
  if (invocation.status === "completed") return notifySink(out, sink, invocation.outcome);
  if (isWaitedForBy(invocation, sink)) return;
  out.mutate({ kind: "putInvocation", invocation: { ...invocation, sinks: [...invocation.sinks, sink] } });
}

/** Whether the invocation will notify exactly this caller. A later generation of the caller's id may use the same completion id. */
export function isWaitedForBy({ sinks }: Invocation, { callerId, callerGeneration, completionId }: Sink): boolean {
  return sinks.some(
    (each) => each.callerId === callerId && each.callerGeneration === callerGeneration && each.completionId === completionId,
  );
}

/** Attaches a caller elsewhere (AttachInvocation). */
export function attach(view: PartitionView, id: Invocation["facts"]["id"], sink: Sink, out: Transition): void {
  const invocation = view.invocation(id);
  if (invocation === undefined) return notifySink(out, sink, NOT_FOUND);
  addSink(invocation, sink, out);
}

/** Returns the output to a caller elsewhere without waiting for it (GetInvocationOutput). */
export function queryOutput(view: PartitionView, command: QueryOutput, out: Transition): void {
  const invocation = view.invocation(command.id);
  const result =
    invocation === undefined
      ? resultOf(NOT_FOUND)
      : invocation.status === "completed"
        ? resultOf(invocation.outcome)
        : ({ kind: "void" } as const);
  const body = encodeNotification({ kind: "completion", id: command.completionId }, result);
  const { callerId, callerGeneration } = command;
  out.send({ kind: "notify", id: callerId, generation: callerGeneration, type: MessageType.GetInvocationOutputCompletion, body });
}

/** Completes an invocation whose handler began: keeps what retention requires, deletes the rest, releases the lock to the next one. */
export function complete(
  view: PartitionView,
  invocation: InFlight,
  outcome: Outcome,
  reason: "ended" | "killed",
  out: Transition,
  endedBy?: OperationId,
): void {
  const { facts } = invocation;
  out.effect({ kind: "stopRun", id: facts.id, run: invocation.run, reason });
  letGoOfSlot(out, invocation);
  notifyWaiters(invocation, outcome, out, endedBy);
  publishOutcome(view, invocation, outcome, out);
  const completed: Completed = {
    status: "completed",
    facts,
    modifiedAtMs: out.nowMs,
    run: invocation.run,
    pinned: invocation.pinned,
    journal: invocation.journal,
    sinks: [],
    milestones: { ...invocation.milestones, completedAtMs: out.nowMs },
    outcome,
  };
  if (facts.completionRetentionMs <= 0) {
    free(view, completed, out);
  } else if (facts.journalRetentionMs <= 0) {
    dropJournal(completed, out);
    purgeLater(out, completed, "purge", facts.completionRetentionMs);
  } else {
    out.mutate({ kind: "putInvocation", invocation: completed });
    purgeLater(out, completed, "purge", facts.completionRetentionMs);
    if (facts.journalRetentionMs < facts.completionRetentionMs)
      purgeLater(out, completed, "purgeJournal", facts.journalRetentionMs);
  }
  const target = facts.target;
  if (isExclusive(target)) releaseLock(view, keyspaceOf(target), target.key, facts.id, out);
}

/** Delivers the outcome to sinks and in-memory callers. */
export function notifyWaiters(invocation: Invocation, outcome: Outcome, out: Transition, endedBy?: OperationId): void {
  const mayRepeat = invocation.milestones.restoredAtMs === undefined ? undefined : (true as const);
  const more = endedBy === undefined && mayRepeat === undefined ? undefined : { endedBy, mayRepeat };
  for (const sink of invocation.sinks) notifySink(out, sink, outcome, more);
  out.effect({ kind: "announce", id: invocation.facts.id, outcome });
}

function purgeLater(out: Transition, completed: Completed, kind: "purge" | "purgeJournal", afterMs: number): void {
  const timer: TimerKey = { dueAtMs: out.nowMs + afterMs, kind, id: completed.facts.id, sequence: 0 };
  out.mutate({ kind: "putTimer", timer });
  out.effect({ kind: "armTimer", timer });
}

/** Deletes the retention timers of a completed invocation, so that none outlives it. */
export function deleteRetentionTimers(invocation: Completed, out: Transition): void {
  const { id, completionRetentionMs, journalRetentionMs } = invocation.facts;
  const at = invocation.milestones.completedAtMs ?? 0;
  out.mutate({ kind: "deleteTimer", timer: { dueAtMs: at + completionRetentionMs, kind: "purge", id, sequence: 0 } });
  if (journalRetentionMs > 0 && journalRetentionMs < completionRetentionMs) {
    out.mutate({ kind: "deleteTimer", timer: { dueAtMs: at + journalRetentionMs, kind: "purgeJournal", id, sequence: 0 } });
  }
}

/** Keeps the result and deletes the journal. */
export function dropJournal(completed: Completed, out: Transition): void {
  deleteJournal(completed, out);
  out.mutate({ kind: "putInvocation", invocation: { ...completed, journal: EMPTY_PROGRESS } });
}

function deleteJournal(invocation: Invocation, out: Transition): void {
  const { id } = invocation.facts;
  if (invocation.journal.length > 0) out.mutate({ kind: "deleteJournal", id, length: invocation.journal.length });
  if (invocation.journal.hasEvents) out.mutate({ kind: "deleteEvents", id });
}

/** Deletes the whole invocation, and with a workflow's run its state and promises. */
export function free(view: PartitionView, invocation: Invocation, out: Transition): void {
  const { id, target } = invocation.facts;
  deleteJournal(invocation, out);
  out.mutate({ kind: "deleteInvocation", id });
  endBurst(view, invocation.facts, out);
  if (!isWorkflowRun(target)) return;
  const service = keyspaceOf(target);
  for (const stateKey of view.stateOf(service, target.key).keys()) {
    out.mutate({ kind: "deleteState", service, key: target.key, stateKey });
  }
  deletePromises(view, service, target.key, out);
}

/** Deletes the promises of a workflow with its run, except those for which a shared handler still waits: it would wait for ever. */
function deletePromises(view: PartitionView, service: string, key: string, out: Transition): void {
  for (const name of view.promisesOf(service, key)) {
    const promise = view.promise(service, key, name);
    const listeners = promise?.kind === "pending" ? promise.listeners.filter((each) => isInFlight(view.invocation(each.id))) : [];
    if (listeners.length === 0) out.mutate({ kind: "deletePromise", service, key, name });
    else out.mutate({ kind: "putPromise", service, key, name, promise: { kind: "pending", listeners } });
  }
}
