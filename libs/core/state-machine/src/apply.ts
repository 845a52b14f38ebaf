/**
 * Applies a command: one switch over all kinds of commands. The states of an invocation:
 *
 *       absent ──invoke──▶ scheduled ──start timer──▶ ┌─────────┐ lock free      ┌─────────┐ ◀── resume ── paused
 *            └─────────────────(no delay)───────────▶ │ begin   │ ─────────────▶ │ invoked │ ── pause ───▶   ▲
 *                                                     └────┬────┘                └─┬─────┬─┘  (or retries   │
 *                                                  lock held │    lock released    │     │ suspend  spent) ─┘
 *                                                        inboxed ───────────────▶──┘     ▼
 *                                                                     ▲               suspended ── awaited ──▶ invoked
 *       absent ◀── retention, purge ── completed ◀── end, kill ───────┴───────────────────┘
 *
 * In a scope with rules, starting and resuming wait for a slot: the invocation is inboxed until its first start, `ready` after a
 * suspension or pause. The scheduler beside the partition responds with `admit`.
 *
 * Applying is pure: the result depends on the view and the command alone.
 */
import { unreachable } from "@perdure/base";
import type { PartitionCommand } from "./command.js";
import { admit } from "./flow/admit.js";
import { pauseQueue, resumeQueue } from "./flow/queue.js";
import { attemptFailed, end, pin, proposeRun, slotWaited, suspend } from "./invocation/attempt.js";
import { cancel, kill, pause, purge, purgeJournal, resume, signalInvocation } from "./invocation/control.js";
import { invoke } from "./invocation/invoke.js";
import { attach, queryOutput } from "./invocation/outcome.js";
import { restartAsNew } from "./invocation/restart.js";
import { notify } from "./journal/append.js";
import { appendCommand } from "./journal/perform-action.js";
import { setStateTtl } from "./state/expiry.js";
import { mutateState } from "./state/replace.js";
import { fireTimer } from "./timer/fire.js";
import type { Transition } from "./transition.js";
import { undo } from "./undo/undo.js";
import type { PartitionView } from "./view.js";

export function apply(view: PartitionView, command: PartitionCommand, out: Transition): void {
  switch (command.kind) {
    case "invoke":
      return invoke(view, command, out);
    case "appendCommand":
      return appendCommand(view, command, out);
    case "proposeRun":
      return proposeRun(view, command, out);
    case "pin":
      return pin(view, command, out);
    case "slotWaited":
      return slotWaited(view, command, out);
    case "end":
      return end(view, command, out);
    case "suspend":
      return suspend(view, command, out);
    case "attemptFailed":
      return attemptFailed(view, command, out);
    case "notify":
      return notify(view, command, out);
    case "signal":
      return signalInvocation(view, command, out);
    case "timerFired":
      return fireTimer(view, command, out);
    case "attach":
      return attach(view, command.id, command.sink, out);
    case "queryOutput":
      return queryOutput(view, command, out);
    case "cancel":
      return cancel(view, command, out);
    case "kill":
      return kill(view, command, out);
    case "pause":
      return pause(view, command, out);
    case "resume":
      return resume(view, command, out);
    case "restartAsNew":
      return restartAsNew(view, command, out);
    case "purge":
      return purge(view, command, out);
    case "purgeJournal":
      return purgeJournal(view, command, out);
    case "undo":
      return undo(view, command, out);
    case "expireUndo":
      return view.undo?.dropExpired(out.nowMs);
    case "mutateState":
      return mutateState(view, command, out);
    case "setStateTtl":
      return setStateTtl(view, command, out);
    case "admit":
      return admit(view, command, out);
    case "deleteBuckets":
      for (const name of command.names) out.mutate({ kind: "deleteBucket", name });
      return;
    case "pauseQueue":
      return pauseQueue(view, command, out);
    case "resumeQueue":
      return resumeQueue(view, command, out);
    default:
      return unreachable(command);
  }
}
