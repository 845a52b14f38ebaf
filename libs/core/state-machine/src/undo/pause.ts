/** Undoes a pause, so that the invocation runs again, and a resumption, so that it is paused again wherever it is now. */
import { unreachable } from "@perdure/base";
import { pauseNow } from "../invocation/attempt.js";
import { wake } from "../invocation/start.js";
import type { Invocation } from "../invocation.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import type { UndoNote, UndoRecord } from "./rows.js";

/**
 * Returns false when another change came after the operation. `present`: the invocation that the operation changed; undefined when it has
 * ended and its row is deleted.
 */
export function undoPause(
  view: PartitionView,
  note: UndoNote,
  { invocation: before }: UndoRecord,
  present: Invocation | undefined,
  out: Transition,
): boolean {
  // An undo of that end would restore the pause.
  if (isEndedByOperation(view, note, out)) return false;
  if (present === undefined) return true;
  switch (present.status) {
    case "paused":
      if (present.run !== before.run) return false; // It was resumed and paused again.
      wake(view, present, out);
      return true;
    case "invoked":
      if (!present.pauseRequested) return true;
      if (present.run !== before.run) return false;
      out.mutate({ kind: "putInvocation", invocation: { ...present, pauseRequested: false } });
      return true;
    case "scheduled":
    case "inboxed":
    case "suspended":
    case "ready":
    case "completed":
      return true; // No pause is left.
    default:
      return unreachable(present);
  }
}

/** Returns false when the invocation has ended, or when its row is deleted. */
export function undoResume(view: PartitionView, present: Invocation | undefined, out: Transition): boolean {
  if (present === undefined) return false;
  switch (present.status) {
    case "invoked":
      if (!present.pauseRequested) out.mutate({ kind: "putInvocation", invocation: { ...present, pauseRequested: true } });
      out.effect({ kind: "requestPause", id: present.facts.id, run: present.run });
      return true;
    case "ready":
    case "suspended":
      pauseNow(view, present, undefined, out);
      return true;
    case "paused":
      return true;
    case "scheduled":
    case "inboxed":
    case "completed":
      return false;
    default:
      return unreachable(present);
  }
}

function isEndedByOperation(view: PartitionView, { id }: UndoNote, out: Transition): boolean {
  const notes = view.undo?.notesOf(id) ?? [];
  return notes.some(({ kind, isUndone, untilMs }) => kind === "ended" && !isUndone && untilMs > out.nowMs);
}
