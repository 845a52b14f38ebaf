/** Undoes a restart: ends the copy that it started. */
import type { InvocationId } from "@perdure/base";
import type { Invocation } from "@perdure/state-machine";
import { applyVerb, type VerbOutcome } from "../invocation-operations.js";
import type { AdminPorts } from "../ports.js";

/** Rejects with PerdureError when the partition is unavailable; a repetition changes nothing. */
export async function undoRestart(ports: Pick<AdminPorts, "partitions">, copy: InvocationId): Promise<VerbOutcome> {
  const found = await ports.partitions.describe(copy);
  if (found === undefined) return refused(`The invocation '${copy}' is not stored any more.`);
  if (found.status === "completed") return isKilled(found) ? UNDONE : refused(`The invocation '${copy}' has ended already.`);
  const isBegun = found.status !== "scheduled" && found.status !== "inboxed";
  const outcome = await applyVerb(ports, "kill", copy);
  return outcome.problem === undefined && isBegun ? { ...outcome, note: `What ${copy} did before it was ended stays.` } : outcome;
}

const UNDONE: VerbOutcome = { status: 200, problem: undefined, newId: undefined };

/** As this undo leaves it, which may be repeated after a crash. */
function isKilled({ outcome }: Extract<Invocation, { status: "completed" }>): boolean {
  return outcome.kind === "failure" && outcome.failure.code === 409 && outcome.failure.message === "killed";
}

function refused(problem: string): VerbOutcome {
  return { status: 409, problem, newId: undefined };
}
