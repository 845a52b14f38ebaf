/**
 * Handles reports of attempts. A report of a run that is no longer the present one is late and changes nothing: kill, pause and loss of
 * leadership end a run before its state is changed.
 */

import { invariant } from "@perdure/base";
import { evaluateFuture, MessageType, outputResultOf } from "@perdure/service-protocol";
import type { AttemptFailed, End, Pin, ProposeRun, SlotWaited, Suspend } from "../command.js";
import type { AttemptError } from "../entry.js";
import { publishPause } from "../event/publish.js";
import type { Invoked, Outcome, Paused, Ready, Suspended } from "../invocation.js";
import { appendNotification, newestNotifications } from "../journal/append.js";
import { EVENT_SLOTS } from "../mutation.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import { withMove } from "./moves.js";
import { complete } from "./outcome.js";
import { letGoOfSlot, startRun } from "./start.js";

/** Returns the invocation if `run` is still its present run. */
export function present(
  view: PartitionView,
  command: { readonly id: Invoked["facts"]["id"]; readonly run: number },
): Invoked | undefined {
  const invocation = view.invocation(command.id);
  return invocation !== undefined && invocation.status === "invoked" && invocation.run === command.run ? invocation : undefined;
}

export function pin(view: PartitionView, command: Pin, out: Transition): void {
  const invocation = present(view, command);
  if (invocation === undefined || invocation.pinned !== undefined) return;
  out.mutate({ kind: "putInvocation", invocation: { ...invocation, pinned: command.pinned } });
}

export function slotWaited(view: PartitionView, command: SlotWaited, out: Transition): void {
  const invocation = present(view, command);
  if (invocation === undefined) return;
  const waiting = withMove(invocation.milestones, "slot", command.sinceMs);
  const milestones = withMove(waiting, "running", command.untilMs);
  out.mutate({ kind: "putInvocation", invocation: { ...invocation, milestones } });
}

export function proposeRun(view: PartitionView, command: ProposeRun, out: Transition): void {
  const invocation = present(view, command);
  if (invocation === undefined) return;
  const delivery = command.ackOnly ? ({ kind: "ackRun", completionId: command.completionId } as const) : undefined;
  appendNotification(view, out, invocation, MessageType.RunCompletion, command.body, delivery);
}

/** Suspends the invocation, unless a notification that it awaits was stored while the suspension was in transit. */
export function suspend(view: PartitionView, command: Suspend, out: Transition): void {
  const invocation = present(view, command);
  if (invocation === undefined) return;
  if (invocation.pauseRequested) return pauseNow(view, invocation, undefined, out);
  out.effect({ kind: "stopRun", id: command.id, run: command.run, reason: "suspended" });
  if (command.satisfied) {
    startRun(out, invocation, undefined);
    return;
  }
  const unseen = invocation.journal.notifications - command.receivedNotificationCount;
  const awaited =
    unseen > 0
      ? evaluateFuture(command.awaiting, newestNotifications(view, invocation, unseen))
      : ({ kind: "pending", remaining: command.awaiting } as const);
  if (awaited.kind === "resolved") {
    startRun(out, invocation, undefined);
    return;
  }
  const suspended: Suspended = {
    status: "suspended",
    facts: invocation.facts,
    modifiedAtMs: out.nowMs,
    run: invocation.run,
    pinned: invocation.pinned,
    journal: invocation.journal,
    sinks: invocation.sinks,
    milestones: withMove(invocation.milestones, "suspended", out.nowMs),
    awaiting: awaited.remaining,
  };
  out.mutate({ kind: "putInvocation", invocation: suspended });
  letGoOfSlot(out, invocation);
}

/** Completes the invocation with its last Output. The attempt has verified that there is one. */
export function end(view: PartitionView, command: End, out: Transition): void {
  const invocation = present(view, command);
  if (invocation === undefined) return;
  const output = command.output ?? view.entry(command.id, invocation.journal.outputIndex)?.body;
  invariant(output !== undefined, "an attempt ends only after its Output");
  const result = outputResultOf(output);
  const outcome: Outcome =
    result.kind === "value"
      ? { kind: "success", value: result.value }
      : { kind: "failure", failure: result.failure, stacktrace: undefined };
  complete(view, invocation, outcome, "ended", out);
}

export function attemptFailed(view: PartitionView, command: AttemptFailed, out: Transition): void {
  const invocation = present(view, command);
  if (invocation === undefined) return;
  const pausing = command.then === "pause" || (command.then === "retry" && invocation.pauseRequested);
  if (!command.isRepeated) {
    out.mutate({
      kind: "putEvent",
      id: command.id,
      slot: command.failureCount % EVENT_SLOTS,
      event: { kind: "transientError", afterIndex: invocation.journal.length - 1, atMs: out.nowMs, error: command.error },
    });
  }
  const noted: Invoked = invocation.journal.hasEvents
    ? invocation
    : { ...invocation, journal: { ...invocation.journal, hasEvents: true } };
  if (command.then === "pause" && command.isRepeated && !invocation.pauseRequested) {
    // The run ended for a pause that was withdrawn meanwhile.
    out.effect({ kind: "stopRun", id: command.id, run: command.run, reason: "suspended" });
    startRun(out, noted, undefined);
    return;
  }
  if (pausing) return pauseNow(view, noted, command.error, out);
  if (command.then === "retry") {
    if (noted !== invocation) out.mutate({ kind: "putInvocation", invocation: noted });
    return;
  }
  const failure = { code: command.error.code, message: command.error.message, metadata: [] };
  complete(view, noted, { kind: "failure", failure, stacktrace: command.error.stacktrace }, "killed", out);
}

/** Pauses the invocation, which keeps the object's lock and the journal; only an operator resumes it. */
export function pauseNow(
  view: PartitionView,
  invocation: Invoked | Ready | Suspended,
  error: AttemptError | undefined,
  out: Transition,
): void {
  const paused: Paused = {
    status: "paused",
    facts: invocation.facts,
    modifiedAtMs: out.nowMs,
    run: invocation.run,
    pinned: invocation.pinned,
    journal: invocation.journal.hasEvents ? invocation.journal : { ...invocation.journal, hasEvents: true },
    sinks: invocation.sinks,
    milestones: withMove(invocation.milestones, "paused", out.nowMs),
  };
  out.mutate({ kind: "putInvocation", invocation: paused });
  letGoOfSlot(out, invocation);
  out.mutate({
    kind: "putEvent",
    id: invocation.facts.id,
    slot: EVENT_SLOTS,
    event: { kind: "paused", afterIndex: invocation.journal.length - 1, atMs: out.nowMs, error },
  });
  if (invocation.status === "invoked") {
    out.effect({ kind: "stopRun", id: invocation.facts.id, run: invocation.run, reason: "paused" });
  }
  publishPause(view, invocation, error, out);
}
