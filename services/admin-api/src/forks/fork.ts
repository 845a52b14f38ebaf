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
  if (outcome.reason === "incompletePrefix") refusePrefix(id, at, (await journalOf(ports, id))?.entries ?? []);
  throw new RouteError(outcome.status, outcome.problem ?? "");
}

const NO_EDITS: ForkEdits = { editedSteps: [], replaced: [], added: [] };

async function storedEdits(ports: ForkPorts, id: InvocationId, at: number, edits: readonly StepEdit[]): Promise<ForkEdits> {
  const { entries } = await forkableJournal(ports, id, at);
  return fittingEdits(entries, at, edits);
}

export interface ForkedJournal {
  readonly invocation: Invocation;
  /** The whole journal of the source. */
  readonly entries: readonly JournalEntry[];
  readonly edits: ForkEdits;
}

/** What a fork outside of partitions begins with. Rejects with `RouteError` as `forkInvocation` does. */
export async function forkedJournal(ports: ForkPorts, id: InvocationId, body: ForkBody): Promise<ForkedJournal> {
  const { invocation, entries } = await forkableJournal(ports, id, body.at);
  const edits = fittingEdits(entries, body.at, (body.edits ?? []).map(stepEditOf));
  return { invocation, entries, edits };
}

/** The journal with the entry `at`: a journal that grows to it later would be cut without the edits that were requested. */
async function forkableJournal(ports: ForkPorts, id: InvocationId, at: number) {
  const journal = await wholeJournal(ports, id);
  const { invocation, entries } = journal;
  if (invocation.status === "scheduled" || invocation.status === "inboxed")
    throw new RouteError(425, `The invocation '${id}' cannot be forked because it's not running yet.`);
  if (entries.length === 0) throw new RouteError(410, `The invocation '${id}' cannot be forked because its journal is gone.`);
  if (at >= entries.length) refusePrefix(id, at, entries);
  return journal;
}

async function wholeJournal(ports: ForkPorts, id: InvocationId) {
  const journal = await journalOf(ports, id);
  if (journal === undefined) throw new RouteError(404, `The requested invocation '${id}' does not exist`);
  if (journal.invocation.journal.length > FORKED_ENTRIES_MAX)
    throw badEdit(`Results of a journal with more than ${FORKED_ENTRIES_MAX} entries cannot be edited.`);
  return journal;
}

function fittingEdits(entries: readonly JournalEntry[], at: number, edits: readonly StepEdit[]): ForkEdits {
  const outcome = forkEditsOf(entries, at, edits);
  if (!outcome.ok) throw badEdit(outcome.problem);
  return outcome.edits;
}

function badEdit(problem: string): RouteError {
  return new RouteError(422, problem, "OPS0012");
}

/** Throws the reason why the journal cannot be cut after entry `at`. */
export function refusePrefix(id: InvocationId, at: number, entries: readonly JournalEntry[]): never {
  if (at >= entries.length)
    throw new RouteError(400, `There is no entry ${at}: the journal of '${id}' ends with ${entries.length - 1}.`, "OPS0013");
  const pending = firstPendingStep(entries, at) ?? "a call";
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
