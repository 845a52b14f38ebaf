/** Forks an invocation: a new one with the beginning of its journal and edited results (decision 0062). */
import type { ForkBody, StepEditBody } from "@perdure/admin-contract/requests";
import { type InvocationId, partitionOf, utf8 } from "@perdure/base";
import type { ForkEdits, Invocation, JournalEntry } from "@perdure/state-machine";
import { RouteError } from "../http/errors.js";
import { restartAsNew } from "../invocation-operations.js";
import { FORKED_ENTRIES_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";
import { type EditedResult, firstPendingStep, forkEditsOf, type StepEdit } from "./edits.js";

type ForkPorts = Pick<AdminPorts, "registry" | "partitions" | "insight" | "clock" | "random">;

/**
 * Resolves with the id of the fork. Rejects with `RouteError`: OPS0012 for an edit that does not fit, OPS0013 when a step of the prefix has
 * no result, and as restart-as-new does.
 */
export async function forkInvocation(ports: ForkPorts, id: InvocationId, body: ForkBody): Promise<InvocationId> {
  const { at, deployment } = body;
  const edits = (body.edits ?? []).map(stepEditOf);
  const outcome = await restartAsNew(ports, id, at, deployment ?? { kind: "keep" }, {
    fork: edits.length === 0 ? NO_EDITS : await storedEdits(ports, id, at, edits),
  });
  if (outcome.newId !== undefined) return outcome.newId;
  if (outcome.status === 400) await refusePrefix(ports, id, at);
  throw new RouteError(outcome.status, outcome.problem ?? "");
}

const NO_EDITS: ForkEdits = { editedSteps: [], replaced: [], added: [] };

async function storedEdits(ports: ForkPorts, id: InvocationId, at: number, edits: readonly StepEdit[]): Promise<ForkEdits> {
  const journal = await journalOf(ports, id);
  if (journal === undefined) throw new RouteError(404, `The requested invocation '${id}' does not exist`);
  const { invocation, entries } = journal;
  if (invocation.journal.length > FORKED_ENTRIES_MAX)
    throw badEdit(`Results of a journal with more than ${FORKED_ENTRIES_MAX} entries cannot be edited.`);
  if (at >= entries.length) return NO_EDITS; // The partition refuses the cut.
  const outcome = forkEditsOf(entries, at, edits);
  if (!outcome.ok) throw badEdit(outcome.problem);
  return outcome.edits;
}

function badEdit(problem: string): RouteError {
  return new RouteError(422, problem, "OPS0012");
}

/** Throws the reason why the journal cannot be cut after entry `at`; returns when there is another reason for the refusal. */
async function refusePrefix(ports: ForkPorts, id: InvocationId, at: number): Promise<void> {
  const journal = await journalOf(ports, id);
  if (journal === undefined) return;
  const { length } = journal.invocation.journal;
  if (at >= length)
    throw new RouteError(400, `There is no entry ${at}: the journal of '${id}' ends with ${length - 1}.`, "OPS0013");
  const pending = firstPendingStep(journal.entries, at);
  if (pending === undefined) return;
  throw new RouteError(
    400,
    `The journal of '${id}' cannot be cut after entry ${at}: ${pending} has no result yet. Cut before it, or give it a result.`,
    "OPS0013",
  );
}

async function journalOf(
  { insight: { store, partitionCount } }: ForkPorts,
  id: InvocationId,
): Promise<{ readonly invocation: Invocation; readonly entries: readonly JournalEntry[] } | undefined> {
  const partition = partitionOf(id, partitionCount);
  const invocation = await store.reads.invocation(partition, id);
  if (invocation === undefined) return undefined;
  const length = Math.min(invocation.journal.length, FORKED_ENTRIES_MAX);
  return { invocation, entries: length === 0 ? [] : await store.readJournal(partition, id, length) };
}

function stepEditOf(body: StepEditBody): StepEdit {
  return { step: body.step, result: resultOf(body) };
}

function resultOf(body: StepEditBody): EditedResult {
  if ("value" in body) return { kind: "value", value: utf8(JSON.stringify(body.value)) };
  if ("text" in body) return { kind: "value", value: utf8(body.text) };
  if ("base64" in body) return { kind: "value", value: new Uint8Array(Buffer.from(body.base64, "base64")) };
  if ("failure" in body) return { kind: "failure", failure: { ...body.failure, metadata: [] } };
  return { kind: "void" };
}
