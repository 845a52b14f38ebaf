/** Undoes what an operation did to one invocation. */
import { InvariantError, type InvocationId, type OperationId } from "@perdure/base";
import type { UndoAnswer } from "@perdure/state-machine";
import type { VerbOutcome } from "../invocation-operations.js";
import type { AdminPorts } from "../ports.js";

/** Rejects with PerdureError when the partition is unavailable; a repetition changes nothing. */
export async function undoOne(
  { partitions }: Pick<AdminPorts, "partitions">,
  id: InvocationId,
  operation: OperationId,
): Promise<VerbOutcome> {
  const answer = await partitions.submit({ kind: "undo", id, operation, sink: undefined });
  if (answer.kind !== "undo") throw new InvariantError(`a partition does not answer '${answer.kind}' to an undo`);
  switch (answer.result) {
    case "undone":
      return { status: 200, problem: undefined, newId: undefined, note: noteOf(id, answer) };
    case "alreadyUndone":
      return { status: 200, problem: undefined, newId: undefined };
    case "notKept":
      return refused(
        409,
        `Nothing is kept of the invocation '${id}': its handler was notified, the record was dropped because of 'undo.bytes-max', or it was not changed.`,
      );
    case "expired":
      return refused(410, `The time to undo the change of the invocation '${id}' is over.`);
    case "conflict":
      return refused(
        409,
        `The invocation '${id}' has changed since: it ended, its id was used again, or another change came after.`,
      );
  }
}

/** Callers in other partitions have stored the failure in their journals; a client may have received it. */
function noteOf(id: InvocationId, { notified, isClientNotified }: UndoAnswer): string | undefined {
  const sentences = notified.map((caller) => `${caller} may have received the end of ${id} as the result of its call.`);
  if (isClientNotified) sentences.push(`A client that waited for ${id} has received its end.`);
  return sentences.length === 0 ? undefined : sentences.join(" ");
}

function refused(status: number, problem: string): VerbOutcome {
  return { status, problem, newId: undefined };
}
