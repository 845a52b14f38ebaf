/** Commands from operators and from other invocations: cancel, kill, pause, resume, purge. Each state handles each of them. */

import { invariant, unreachable } from "@perdure/base";
import { cancelSignalIndex, decodeNotification, isFault, MessageType, voidResult } from "@perdure/service-protocol";
import type { Cancel, Kill, Pause, Purge, PurgeJournal, Resume, SignalInvocation, UndoMark } from "../command.js";
import type { CommandAnswer } from "../effect.js";
import { publishOutcome } from "../event/publish.js";
import { hasBegun, type Inboxed, type Invocation, type Outcome, type Scheduled } from "../invocation.js";
import { storeSignal } from "../journal/append.js";
import { isExclusive, keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import { keepDeferredSignal } from "../undo/deferred.js";
import { isRepetition, isUndone, keepForUndo } from "../undo/keep.js";
import type { PartitionView } from "../view.js";
import { pauseNow } from "./attempt.js";
import { complete, deleteRetentionTimers, dropJournal, free, notifyWaiters } from "./outcome.js";
import { letGoOfSlot, wake } from "./start.js";

const KILLED: Outcome = Object.freeze({
  kind: "failure",
  failure: { code: 409, message: "killed", metadata: [] },
  stacktrace: undefined,
});
const CANCELED: Outcome = Object.freeze({
  kind: "failure",
  failure: { code: 409, message: "canceled", metadata: [] },
  stacktrace: undefined,
});

function reply(
  out: Transition,
  kind: Exclude<CommandAnswer["kind"], "previouslyAccepted" | "notRestartable" | "throttled" | "throttleKeysFull" | "undo">,
): void {
  out.effect({ kind: "reply", answer: { kind } });
}

/** Cancels an invocation: before its start it is removed, afterwards it gets a signal that the handler may handle. */
export function cancel(view: PartitionView, command: Cancel, out: Transition): void {
  if (isUndone(view, command.id, command.undo)) return reply(out, "done");
  const invocation = view.invocation(command.id);
  if (invocation === undefined) return reply(out, "notFound");
  switch (invocation.status) {
    case "scheduled":
    case "inboxed":
      if (hasBegun(invocation)) {
        storeSignal(view, out, invocation, { kind: "signalIndex", index: cancelSignalIndex }, voidResult);
        return reply(out, "pending");
      }
      keepForUndo(view, invocation, "ended", command.undo, out);
      removeUnstarted(view, invocation, CANCELED, out, command.undo);
      return reply(out, "done");
    case "invoked":
    case "suspended":
    case "ready":
    case "paused":
      storeSignal(view, out, invocation, { kind: "signalIndex", index: cancelSignalIndex }, voidResult);
      return reply(out, "pending");
    case "completed":
      return reply(out, "alreadyCompleted");
    default:
      return unreachable(invocation);
  }
}

/** Appends a signal from another invocation or from outside. A signal to an unknown or finished target is ignored. */
export function signalInvocation(view: PartitionView, command: SignalInvocation, out: Transition): void {
  const invocation = view.invocation(command.id);
  if (invocation === undefined || invocation.status === "completed") {
    keepDeferredSignal(view, command, out);
    return reply(out, "done");
  }
  const cancels = command.signal.kind === "signalIndex" && command.signal.index === cancelSignalIndex;
  if (cancels && (invocation.status === "scheduled" || invocation.status === "inboxed") && !hasBegun(invocation)) {
    removeUnstarted(view, invocation, CANCELED, out);
  } else {
    storeSignal(view, out, invocation, command.signal, command.result);
  }
  reply(out, "done");
}

/** Kills an invocation: no user code runs any more, and every invocation that it called or sent is killed as well. */
export function kill(view: PartitionView, command: Kill, out: Transition): void {
  if (isUndone(view, command.id, command.undo)) return reply(out, "done");
  const invocation = view.invocation(command.id);
  if (invocation === undefined) return reply(out, "notFound");
  switch (invocation.status) {
    case "scheduled":
    case "inboxed":
      keepForUndo(view, invocation, "ended", command.undo, out);
      if (hasBegun(invocation)) killChildren(view, invocation, command.undo, out);
      removeUnstarted(view, invocation, KILLED, out, command.undo);
      return reply(out, "done");
    case "invoked":
    case "suspended":
    case "ready":
    case "paused":
      keepForUndo(view, invocation, "ended", command.undo, out);
      killChildren(view, invocation, command.undo, out);
      complete(view, invocation, KILLED, "killed", out, command.undo?.operation);
      return reply(out, "done");
    case "completed":
      return reply(out, "alreadyCompleted");
    default:
      return unreachable(invocation);
  }
}

function killChildren(view: PartitionView, invocation: Invocation, undo: UndoMark | undefined, out: Transition): void {
  for (const entry of view.journalOf(invocation.facts.id, invocation.journal.length)) {
    if (entry === undefined || entry.type !== MessageType.CallInvocationIdCompletion) continue;
    const decoded = decodeNotification(entry.type, entry.body);
    invariant(
      !isFault(decoded) && decoded.result.kind === "invocationId",
      "a stored notification of a callee's id can be decoded",
    );
    const id = decoded.result.invocationId as Invocation["facts"]["id"];
    out.send(undo === undefined ? { kind: "kill", id } : { kind: "kill", id, undo });
  }
}

/** Removes an invocation that never began: no record is kept, callers get the outcome. */
function removeUnstarted(
  view: PartitionView,
  invocation: Scheduled | Inboxed,
  outcome: Outcome,
  out: Transition,
  undo?: UndoMark,
): void {
  const { id, target, executionTimeMs } = invocation.facts;
  notifyWaiters(invocation, outcome, out, undo?.operation);
  publishOutcome(view, invocation, outcome, out);
  if (invocation.status === "scheduled") {
    out.mutate({ kind: "deleteTimer", timer: { dueAtMs: executionTimeMs ?? 0, kind: "start", id, sequence: 0 } });
  } else if (invocation.waitsFor === "slot") {
    letGoOfSlot(out, invocation);
  } else if (isExclusive(target)) {
    out.mutate({ kind: "deleteInbox", service: keyspaceOf(target), key: target.key, seq: invocation.inboxSeq });
  }
  free(view, invocation, out);
}

/** Pauses an invocation when its running attempt stops; a suspended invocation runs nothing and stays suspended. */
export function pause(view: PartitionView, command: Pause, out: Transition): void {
  if (isRepetition(view, command.id, command.undo)) return reply(out, "done");
  const invocation = view.invocation(command.id);
  if (invocation === undefined) return reply(out, "notFound");
  switch (invocation.status) {
    case "invoked":
      if (!invocation.pauseRequested) {
        keepForUndo(view, invocation, "paused", command.undo, out);
        out.mutate({ kind: "putInvocation", invocation: { ...invocation, pauseRequested: true } });
      }
      out.effect({ kind: "requestPause", id: command.id, run: invocation.run });
      return reply(out, "pending");
    case "ready":
      keepForUndo(view, invocation, "paused", command.undo, out);
      pauseNow(view, invocation, undefined, out);
      return reply(out, "done");
    case "suspended":
    case "paused":
      return reply(out, "alreadyPaused");
    case "scheduled":
    case "inboxed":
    case "completed":
      return reply(out, "notRunning");
    default:
      return unreachable(invocation);
  }
}

/** Runs the invocation again now with a fresh retry budget, on another deployment if requested. */
export function resume(view: PartitionView, command: Resume, out: Transition): void {
  if (isRepetition(view, command.id, command.undo)) return reply(out, "done");
  const invocation = view.invocation(command.id);
  if (invocation === undefined) return reply(out, "notFound");
  // No pause ended, so nothing can be undone.
  const unpaused = command.undo === undefined ? "done" : "accepted";
  switch (invocation.status) {
    case "invoked":
      // The move was requested again although it was done, because the sender did not get the response.
      if (command.moveTo !== undefined && command.moveTo !== invocation.pinned?.deploymentId) return reply(out, "stillRunning");
      out.effect({ kind: "retryNow", id: command.id, run: invocation.run });
      return reply(out, unpaused);
    case "ready":
      if (command.moveTo !== undefined) {
        const { pinned } = invocation;
        if (pinned === undefined) return reply(out, "deploymentNotPinned");
        const moved = { deploymentId: command.moveTo, protocolVersion: pinned.protocolVersion };
        out.mutate({ kind: "putInvocation", invocation: { ...invocation, pinned: moved } });
      }
      return reply(out, unpaused);
    case "suspended":
    case "paused": {
      const { pinned, status } = invocation;
      if (command.moveTo === undefined) {
        if (status === "paused") keepForUndo(view, invocation, "resumed", command.undo, out);
        wake(view, invocation, out);
      } else {
        if (pinned === undefined) return reply(out, "deploymentNotPinned");
        const moved = { deploymentId: command.moveTo, protocolVersion: pinned.protocolVersion };
        wake(view, { ...invocation, pinned: moved }, out);
      }
      return reply(out, status === "paused" ? "done" : unpaused);
    }
    case "scheduled":
    case "inboxed":
      return reply(out, "notStarted");
    case "completed":
      return reply(out, "alreadyCompleted");
    default:
      return unreachable(invocation);
  }
}

export function purge(view: PartitionView, command: Purge, out: Transition): void {
  if (isUndone(view, command.id, command.undo)) return reply(out, "done");
  const invocation = view.invocation(command.id);
  if (invocation === undefined) return reply(out, "notFound");
  if (invocation.status !== "completed") return reply(out, "notCompleted");
  keepForUndo(view, invocation, "purged", command.undo, out);
  deleteRetentionTimers(invocation, out);
  free(view, invocation, out);
  reply(out, "done");
}

export function purgeJournal(view: PartitionView, command: PurgeJournal, out: Transition): void {
  const invocation = view.invocation(command.id);
  if (invocation === undefined) return reply(out, "notFound");
  if (invocation.status !== "completed") return reply(out, "notCompleted");
  dropJournal(invocation, out);
  reply(out, "done");
}
