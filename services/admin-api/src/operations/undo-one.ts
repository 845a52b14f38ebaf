/** Undoes what an operation did to one invocation, or to the state of one key. */
import { InvariantError, type InvocationId } from "@perdure/base";
import type { UndoAnswer } from "@perdure/state-machine";
import type { VerbOutcome } from "../invocation-operations.js";
import type { AdminPorts } from "../ports.js";
import type { OperationRecord } from "./record.js";

/** Rejects with PerdureError when the partition is unavailable; a repetition changes nothing. */
export async function undoOne(
  { partitions }: Pick<AdminPorts, "partitions">,
  id: InvocationId,
  { id: operation, subject }: Pick<OperationRecord, "id" | "subject">,
): Promise<VerbOutcome> {
  const answer = await partitions.submit({ kind: "undo", id, operation, sink: undefined });
  if (answer.kind !== "undo") throw new InvariantError(`a partition does not answer '${answer.kind}' to an undo`);
  const changed = subject === null ? `the change of the invocation '${id}'` : `the edit of the state of '${subject}'`;
  switch (answer.result) {
    case "undone":
      return { status: 200, problem: undefined, newId: undefined, note: noteOf(id, subject, answer) };
    case "alreadyUndone":
      return { status: 200, problem: undefined, newId: undefined };
    case "notKept":
      return refused(409, notKept(id, subject));
    case "expired":
      return refused(410, `The time to undo ${changed} is over.`);
    case "conflict":
      return refused(409, conflict(id, subject));
  }
}

function notKept(id: InvocationId, subject: string | null): string {
  return subject === null
    ? `Nothing is kept of the invocation '${id}': its handler was notified, the record was dropped because of 'undo.bytes-max', or it was not changed.`
    : `Nothing is kept of the edit of the state of '${subject}': the record was dropped because of 'undo.bytes-max', or the edit changed nothing.`;
}

function conflict(id: InvocationId, subject: string | null): string {
  return subject === null
    ? `The invocation '${id}' has changed since: it ended, its id was used again, or another change came after.`
    : `The state of '${subject}' has changed since: an entry of the edit was written again or has expired. Nothing was changed; edit the state again.`;
}

/** Callers in other partitions have stored the failure in their journals; a client may have received it. */
function noteOf(
  id: InvocationId,
  subject: string | null,
  { notified, isClientNotified, isWaiting }: UndoAnswer,
): string | undefined {
  if (isWaiting === true) {
    return `Handlers of '${subject}' run or wait: the undo is applied behind them, and not when they write the same entries.`;
  }
  const sentences = notified.map((caller) => `${caller} may have received the end of ${id} as the result of its call.`);
  if (isClientNotified) sentences.push(`A client that waited for ${id} has received its end.`);
  return sentences.length === 0 ? undefined : sentences.join(" ");
}

function refused(status: number, problem: string): VerbOutcome {
  return { status, problem, newId: undefined };
}
