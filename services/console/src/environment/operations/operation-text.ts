/** Operations that can be undone, as text: what an undo does, the time left, and its outcome. Pure. */
import type { BatchView, OperationView } from "@perdure/admin-client";
import { UNDOABLE_VERBS } from "@perdure/admin-contract";
import { durationText } from "../../kit/time-text.js";

type OperationUndo = NonNullable<OperationView["undo"]>;

export function invocationsText(count: number): string {
  return count === 1 ? "1 invocation" : `${count.toLocaleString("en")} invocations`;
}

const NOUNS: Readonly<Record<string, string>> = {
  cancel: "cancellation",
  resume: "resumption",
  "restart-as-new": "restart",
  "edit-state": "state edit",
  "delete-deployment": "deletion",
  "delete-subscription": "deletion",
  "delete-schedule": "deletion",
  "delete-rules": "deletion",
  "delete-kafka-cluster": "deletion",
  "delete-event-subscription": "deletion",
};

/** `kill of 412 invocations`, `state edit of Counter/a` */
export function operationTitle({
  operation,
  subject,
  matched,
}: Pick<OperationView, "operation" | "subject" | "matched">): string {
  return `${NOUNS[operation] ?? operation} of ${subject ?? invocationsText(matched)}`;
}

const EFFECTS: Readonly<Record<string, string>> = {
  kill: "Killed invocations continue from their journals, with those that they had called. Clients and callers that have received the failure keep it.",
  cancel:
    "Invocations that had not started are stored again and start at their time. A cancellation that a handler was notified of is not withdrawn.",
  purge: "Purged invocations are stored again, with their journals and results.",
  pause: "Paused invocations run again, and a pause that has not taken effect is withdrawn.",
  resume:
    "Resumed invocations are paused again where they are now, when their running attempts stop. What they did meanwhile stays.",
  "restart-as-new":
    "The new invocations are ended, with what they had called, unless they have ended by themselves. What they did stays.",
  "edit-state":
    "The entries that the edit changed get their former values, behind handlers that run on the key. The undo is refused when one of them was written since.",
  "delete-deployment": "The deployment is registered again with its id and its revisions.",
  "delete-subscription": "The subscription consumes again from the offsets of its group.",
  "delete-schedule": "The schedule fires again. Times that passed meanwhile are skipped.",
  "delete-rules": "The rules hold again, with new versions.",
  "delete-kafka-cluster": "The Kafka cluster has its properties again, and subscriptions that read from it continue.",
  "delete-event-subscription":
    "The event subscription is there again, a webhook with its secrets. Events that happened meanwhile are not sent.",
};

/** What an undo does. `isBatch`: the operation is one of a batch. */
export function undoEffect(operation: string, isBatch: boolean): string {
  const effect = EFFECTS[operation] ?? "The invocations are stored again as they were.";
  return isBatch ? `${effect} A batch that is still running is stopped first.` : effect;
}

/** Time left for an operation that was received at `receivedAtMs` on the clock of this browser, which may differ from the server's. */
export function leftMs(operation: OperationView, receivedAtMs: number, nowMs: number): number {
  if (operation.state !== "undoable") return 0;
  return Math.max(0, operation.undo_left_ms - Math.max(0, nowMs - receivedAtMs));
}

/** `9 min 58 s`; whole seconds, so that it counts down. */
export function leftText(ms: number): string {
  return durationText(Math.ceil(ms / 1_000) * 1_000);
}

/** `412 invocations restored, 3 not`, `Counter/a restored`; of a restart `412 invocations ended` */
export function outcomeText(
  { undone, failed }: Pick<OperationUndo, "undone" | "failed">,
  { operation, subject }: Pick<OperationView, "operation" | "subject">,
): string {
  if (subject !== null) return undone === 0 ? `${subject} not restored` : `${subject} restored`;
  const verb = operation === "restart-as-new" ? "ended" : "restored";
  const done = undone === 0 ? `No invocation ${verb}` : `${invocationsText(undone)} ${verb}`;
  return failed === 0 ? done : `${done}, ${failed.toLocaleString("en")} not`;
}

/** Whether the whole operation is undone, and no one received anything of it: nothing is left to read. */
export function isWhollyUndone({ state, undo }: OperationView): boolean {
  return state === "undone" && undo !== null && undo.failed === 0 && undo.undone > 0 && undo.cannot_be_undone.length === 0;
}

/** Whether the page of a batch shows its undo: it changed something that can be restored, or is about to. */
export function hasUndo({ operation, operation_id: id, state, succeeded }: BatchView): boolean {
  return id !== undefined && UNDOABLE.includes(operation) && (state === "running" || succeeded > 0);
}

const UNDOABLE: readonly string[] = UNDOABLE_VERBS;
