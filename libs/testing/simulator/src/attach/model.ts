/**
 * Rules about attachments and requests for outputs, of handlers and of clients: the answer is what the other invocation was at a moment
 * between the request and the answer. Made of what became durable: when each id was absent, in flight, and over, with which outcome.
 */
import type { InvocationId } from "@perdure/base";
import { decodeCommand, isFault, type NotificationResult } from "@perdure/service-protocol";
import type { Invocation, JournalEntry, Outcome } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import { type GenerationRecord, outcomeText } from "../ledger/generation-record.js";
import { attachedInvocation } from "./targets.js";

/** Answers that are no outcomes. */
export const NOT_FOUND = "failure 404 not found";
export const PENDING = "in flight";
const KILLED = "failure 409 killed";
/** Outcomes of an invocation that is removed before its start; no row has them. */
const REMOVED: readonly string[] = [KILLED, "failure 409 canceled"];

/** What an id was, from one batch to another; both count. */
interface Phase {
  /** Answers that are true; undefined: any outcome, because no row had it. */
  readonly answers: readonly string[] | undefined;
  readonly from: number;
  to: number;
}

export class AttachModel {
  readonly #findings: SimulationFindings;
  /** Number of batches that are durable. */
  readonly #commits: () => number;
  readonly #phases = new Map<InvocationId, Phase[]>();
  /** The batch that stored a request, by the invocation that has it and its completion id. */
  readonly #requestedAt = new Map<string, number>();
  /** Checks of answers in the present batch, whose order says nothing about its targets. */
  #checks: (() => void)[] = [];
  #answered = 0;

  constructor(findings: SimulationFindings, commits: () => number) {
    this.#findings = findings;
    this.#commits = commits;
  }

  /** Number of answers that were checked. */
  get answeredCount(): number {
    return this.#answered;
  }

  // ── what invocations are ───────────────────────────────────────────────────────────────────────

  /** It was created or restored. */
  exists(invocation: Invocation): void {
    if (invocation.status === "completed") return this.ended(invocation.facts.id, invocation.outcome);
    this.#enter(invocation.facts.id, [PENDING]);
  }

  ended(id: InvocationId, outcome: Outcome): void {
    this.#enter(id, [outcomeText(outcome)]);
  }

  deleted({ id, invocation: { status } }: GenerationRecord): void {
    const isUnstarted = status === "scheduled" || status === "inboxed";
    if (status !== "completed") this.#enter(id, isUnstarted ? REMOVED : undefined);
    this.#enter(id, [NOT_FOUND]);
  }

  #enter(id: InvocationId, answers: readonly string[] | undefined): void {
    const commit = this.#commits();
    const phases = this.#phasesOf(id);
    const last = phases.at(-1);
    if (last !== undefined) last.to = commit;
    phases.push({ answers, from: commit, to: Number.POSITIVE_INFINITY });
    this.#phases.set(id, phases);
  }

  #phasesOf(id: InvocationId): Phase[] {
    return this.#phases.get(id) ?? [{ answers: [NOT_FOUND], from: 0, to: Number.POSITIVE_INFINITY }];
  }

  // ── requests and answers ──────────────────────────────────────────────────────────────────────

  /** A handler's request became durable, perhaps once more with a copy of its journal. */
  requested(generation: GenerationRecord, completionId: number): void {
    const name = requestOf(generation, completionId);
    if (!this.#requestedAt.has(name)) this.#requestedAt.set(name, this.#commits());
  }

  /** The answer to a handler's request became durable. */
  answered(generation: GenerationRecord, completionId: number, request: JournalEntry, result: NotificationResult): void {
    const command = decodeCommand(request.type, request.body);
    if (isFault(command) || (command.kind !== "attachInvocation" && command.kind !== "getInvocationOutput")) return;
    const answer = answerOf(result);
    // The undo of the caller's end requests its callees again; of one that is not there, "killed" is what its end left.
    if (generation.restoredCount > 0 && answer === KILLED) return;
    const isOutcome = command.kind === "getInvocationOutput" || answer !== PENDING;
    const since = this.#requestedAt.get(requestOf(generation, completionId)) ?? 0;
    this.#checks.push(() => this.#check(generation.id, attachedInvocation(command.target), isOutcome, answer, since));
  }

  endOfBatch(): void {
    for (const check of this.#checks) check();
    this.#checks = [];
  }

  /** A client got an answer about the invocation; `since`: number of durable batches when it sent the request. */
  clientAnswered(client: string, id: InvocationId, answer: string, since: number): void {
    this.#check(client, id, true, answer, since);
  }

  #check(caller: string, id: InvocationId, isOutcome: boolean, answer: string, since: number): void {
    this.#answered++;
    const now = this.#commits();
    const during = this.#phasesOf(id).filter(({ from, to }) => from <= now && to >= since - 1);
    const isTrue = during.some(({ answers }) => (answers === undefined ? answer !== PENDING : answers.includes(answer)));
    this.#findings.require(
      isOutcome && isTrue,
      "an attachment gets what its target was",
      () =>
        `${caller} got '${answer}' of ${id}, which was ${during.map(({ answers }) => answers?.join(" or ") ?? "over").join()}`,
    );
  }
}

function requestOf({ id, facts }: GenerationRecord, completionId: number): string {
  return `${id}/${facts.createdAtMs}/${completionId}`;
}

function answerOf(result: NotificationResult): string {
  if (result.kind === "value") return outcomeText({ kind: "success", value: result.value });
  return result.kind === "failure" ? outcomeText({ kind: "failure", failure: result.failure, stacktrace: undefined }) : PENDING;
}
