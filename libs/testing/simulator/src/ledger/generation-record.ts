/** The checkers' own record of an invocation, made only of what became durable. */
import type { InvocationId } from "@perdure/base";
import type { NotificationResult } from "@perdure/service-protocol";
import type { Invocation, InvocationFacts, JournalEntry, Outcome } from "@perdure/state-machine";
import { isWorkflowRun } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";

/** The valid transitions from each status. */
const NEXT_STATUSES: Readonly<Record<Invocation["status"], readonly Invocation["status"][]>> = {
  scheduled: ["scheduled", "inboxed", "invoked"],
  inboxed: ["inboxed", "invoked"],
  invoked: ["invoked", "suspended", "paused", "completed"],
  suspended: ["suspended", "paused", "ready", "invoked", "completed"],
  ready: ["ready", "invoked", "paused", "completed"],
  paused: ["paused", "ready", "invoked", "completed"],
  completed: ["completed"],
};

/** One generation: from its first record to its deletion. An id made of a key may be used again after that. */
export interface GenerationRecord {
  readonly id: InvocationId;
  readonly facts: InvocationFacts;
  /** Number of earlier generations of the id. */
  readonly number: number;
  readonly partition: number;
  /** Number of the batch in which it began, or in which it was restored last. */
  createdAtCommit: number;
  invocation: Invocation;
  /** Entries as stored, in order; empty once dropped. */
  entries: JournalEntry[];
  journalDropped: boolean;
  /** Completion id → its command, by the command that expects it. */
  readonly expectedCompletions: Map<number, ExpectedCompletion>;
  /** Number of commands ever stored, also those of a journal that was dropped. */
  commandCount: number;
  /** Entries below this index are written again after the last drop, with another input: a later request has joined the burst. */
  rewrittenLength: number;
  /** Set at its end. */
  outcome: Outcome | undefined;
  isDeleted: boolean;
  /** Whether the removal was requested: a caller that submits again because it missed the response is then accepted again. */
  removalRequested: boolean;
  /** Number of times that its end or its deletion was undone; what callers received before stays what they have. */
  restoredCount: number;
}

interface ExpectedCompletion {
  readonly commandType: number;
  readonly notificationType: number;
  /** The command itself. */
  readonly entry: JournalEntry;
  completed: boolean;
}

/** `last`: the generation of the id before this one. */
export function newGeneration(
  partition: number,
  invocation: Invocation,
  last: GenerationRecord | undefined,
  commit: number,
): GenerationRecord {
  return {
    id: invocation.facts.id,
    facts: invocation.facts,
    number: last === undefined ? 0 : last.number + 1,
    partition,
    createdAtCommit: commit,
    invocation,
    entries: [],
    journalDropped: false,
    expectedCompletions: new Map(),
    outcome: undefined,
    isDeleted: false,
    // A caller that requested the end of an earlier generation repeats the request until it gets a response, and may so end this one,
    // too.
    removalRequested: last?.removalRequested ?? false,
    commandCount: 0,
    rewrittenLength: 0,
    restoredCount: 0,
  };
}

/** The generation that an undo restores: the present one of the id, or a former one, which then counts as the next. */
export function restoredGeneration(
  partition: number,
  invocation: Invocation,
  present: GenerationRecord | undefined,
  commit: number,
): GenerationRecord {
  const isSame = present?.facts.createdAtMs === invocation.facts.createdAtMs;
  const generation = present !== undefined && isSame ? present : newGeneration(partition, invocation, present, commit);
  generation.invocation = invocation;
  generation.createdAtCommit = commit;
  generation.restoredCount++;
  generation.entries = [];
  generation.expectedCompletions.clear();
  generation.commandCount = 0;
  generation.journalDropped = false;
  generation.isDeleted = false;
  generation.outcome = invocation.status === "completed" ? invocation.outcome : undefined;
  return generation;
}

/** Whether the id was made of names and keys, so that it may be used again. */
export function hasDeterministicId(facts: InvocationFacts): boolean {
  return facts.idempotencyKey !== undefined || isWorkflowRun(facts.target);
}

/** Converts results of runs to text, to compare them. */
export function resultText(result: NotificationResult): string {
  if (result.kind === "value") return `value ${Buffer.from(result.value)}`;
  return result.kind === "failure" ? `failure ${result.failure.message}` : result.kind;
}

export function outcomeText(outcome: Outcome): string {
  return outcome.kind === "success"
    ? `value ${Buffer.from(outcome.value)}`
    : `failure ${outcome.failure.code} ${outcome.failure.message}`;
}

/** Reports when `invocation` cannot follow the stored record of its generation. */
export function checkTransition(findings: SimulationFindings, before: GenerationRecord, invocation: Invocation): void {
  const { facts, invocation: from } = before;
  findings.require(
    NEXT_STATUSES[from.status].includes(invocation.status),
    "an invocation makes only valid transitions",
    () => `${before.id}: ${from.status} to ${invocation.status}`,
  );
  findings.require(
    facts.createdAtMs === invocation.facts.createdAtMs && facts.requestId === invocation.facts.requestId,
    "facts never change",
    () => before.id,
  );
  const runs = invocation.run - from.run;
  const starts = invocation.status === "invoked" && runs === 1;
  findings.require(
    runs === 0 || starts,
    "run numbers rise by one with each start",
    () => `${before.id}: ${from.run} to ${invocation.run}, ${invocation.status}`,
  );
  findings.require(
    from.status === "invoked" || invocation.status !== "invoked" || starts,
    "a start has a new run number",
    () => before.id,
  );
  findings.require(
    from.pinned === undefined || invocation.pinned?.deploymentId === from.pinned.deploymentId,
    "a pin stays",
    () => before.id,
  );
}
