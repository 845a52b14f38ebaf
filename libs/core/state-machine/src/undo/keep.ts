/** Keeps an invocation as it is before an operation ends or deletes it. */
import type { InvocationId } from "@perdure/base";
import type { UndoMark, UserStateEntry } from "../command.js";
import type { JournalEntry } from "../entry.js";
import { generationMark, type Invocation } from "../invocation.js";
import { isWorkflowRun, keyspaceOf } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";
import type { NewUndoNote, UndoRecord } from "./rows.js";

/** Whether the operation was undone for this invocation already: a late repetition of its command must not change it again. */
export function isUndone(view: PartitionView, id: InvocationId, mark: UndoMark | undefined): boolean {
  return mark !== undefined && view.undo?.note(id, mark.operation)?.isUndone === true;
}

/** Whether the operation has changed the invocation already: its command is repeated. */
export function isRepetition(view: PartitionView, id: InvocationId, mark: UndoMark | undefined): boolean {
  return mark !== undefined && view.undo?.note(id, mark.operation) !== undefined;
}

/** Call it before the change. Does nothing for changes that cannot be undone. */
export function keepForUndo(
  view: PartitionView,
  invocation: Invocation,
  kind: Exclude<NewUndoNote["kind"], "stateEdited">,
  mark: UndoMark | undefined,
  out: Transition,
): void {
  const { undo } = view;
  if (mark === undefined || undo?.keepsNew !== true || mark.untilMs <= out.nowMs) return;
  const { facts, journal } = invocation;
  const isDeleted = kind === "ended" || kind === "purged";
  const kept = isDeleted ? view.journalOf(facts.id, journal.length) : [];
  const entries = kept.filter((entry): entry is JournalEntry => entry !== undefined);
  const note = { id: facts.id, operation: mark.operation, kind, untilMs: mark.untilMs, generation: generationMark(facts) };
  undo.put(note, { invocation, journal: entries, ...(isDeleted ? rowsOfWorkflow(view, invocation) : NO_ROWS) }, out.nowMs);
}

/** The rows that `free` deletes with a workflow's run. */
function rowsOfWorkflow(view: PartitionView, { facts, status }: Invocation): Pick<UndoRecord, "state" | "promises"> {
  const { target, completionRetentionMs } = facts;
  const isKept = status !== "completed" && status !== "scheduled" && status !== "inboxed" && completionRetentionMs > 0;
  if (!isWorkflowRun(target) || isKept) return NO_ROWS;
  const service = keyspaceOf(target);
  const state: UserStateEntry[] = [...view.stateOf(service, target.key)].map(([key, value]) => ({ key, value }));
  const promises = view.promisesOf(service, target.key).flatMap((name) => {
    const promise = view.promise(service, target.key, name);
    return promise === undefined ? [] : [{ name, promise }];
  });
  return { state, promises };
}

const NO_ROWS: Pick<UndoRecord, "state" | "promises"> = { state: [], promises: [] };
