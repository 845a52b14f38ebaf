/** Notifications for an invocation whose end can still be undone: they are kept with its record, so that none is lost. */
import { encodeNotification, MessageType } from "@perdure/service-protocol";
import type { Notify, SignalInvocation } from "../command.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import type { UndoNote } from "./rows.js";

/** Keeps a completion. That of a callee which the same operation ended is dropped: undoing the operation restores the callee too. */
export function keepDeferredCompletion(view: PartitionView, command: Notify, out: Transition): void {
  const { undo } = view;
  if (undo === undefined || undo.isEmpty) return;
  for (const note of undo.notesOf(command.id)) {
    if (!isOpen(note, out.nowMs) || note.operation === command.endedBy) continue;
    if (command.generation !== undefined && command.generation !== note.generation) continue;
    undo.defer(note, { type: command.type, body: command.body, appendedAtMs: out.nowMs });
  }
}

export function keepDeferredSignal(view: PartitionView, command: SignalInvocation, out: Transition): void {
  const { undo } = view;
  if (undo === undefined || undo.isEmpty) return;
  const notes = undo.notesOf(command.id).filter((note) => isOpen(note, out.nowMs));
  if (notes.length === 0) return;
  const body = encodeNotification(command.signal, command.result);
  for (const note of notes) undo.defer(note, { type: MessageType.Signal, body, appendedAtMs: out.nowMs });
}

function isOpen({ kind, isUndone, untilMs }: UndoNote, nowMs: number): boolean {
  return kind === "ended" && !isUndone && untilMs > nowMs;
}
