/**
 * The checkers' own record of everything that became durable, in that order. It receives each batch of mutations as it lands in the
 * store and is independent of the code that made them; whatever contradicts the record is a finding.
 */
import type { InvocationId } from "@perdure/base";
import type { InboxEntry, Invocation, JournalEntry, Mutation, Outcome, PartitionCommand } from "@perdure/state-machine";
import { DEBOUNCE_SERVICE, isExclusive, isWorkflowRun } from "@perdure/state-machine";
import type { PartitionBatch } from "@perdure/storage";
import { AttachModel } from "../attach/model.js";
import { DebounceModel } from "../debounce/model.js";
import type { SimulationFindings } from "../findings.js";
import { FlowModel } from "../flow/model.js";
import { ForkModel } from "../fork/model.js";
import { UndoModel } from "../undo/model.js";
import { AttemptLedger } from "./attempts.js";
import {
  checkTransition,
  type GenerationRecord,
  hasDeterministicId,
  newGeneration,
  outcomeText,
  restoredGeneration,
} from "./generation-record.js";
import { calleesOf, completedCalleesOf, JournalModel } from "./journal-model.js";
import { KillModel } from "./kill-model.js";
import { LockModel } from "./lock-model.js";
import { OutboxModel } from "./outbox-model.js";
import { PromiseModel } from "./promise-model.js";
import { RunModel } from "./run-model.js";
import { SignalModel } from "./signal-model.js";
import { StateModel } from "./state-model.js";
import { timerText } from "./timer-text.js";

export class Ledger {
  readonly attempts: AttemptLedger;
  readonly state: StateModel;
  readonly locks: LockModel;
  readonly flow: FlowModel;
  readonly kills: KillModel;
  readonly runs: RunModel;
  readonly signals: SignalModel;
  readonly promises: PromiseModel;
  readonly debounce: DebounceModel;
  readonly undo: UndoModel;
  readonly forks: ForkModel;
  readonly attachments: AttachModel;
  readonly #journals: JournalModel;
  /** The present generation of each id, deleted ones included. */
  readonly #generations = new Map<InvocationId, GenerationRecord>();
  readonly #seeds = new Map<string, bigint>();
  readonly #outbox: OutboxModel;
  readonly #timers = new Set<string>();
  /** Entries stored before the record of their invocation, in one batch. */
  #early = new Map<InvocationId, JournalEntry[]>();
  /** Workflows deleted in the present batch, and not written to since. */
  readonly #deletedWorkflows = new Set<string>();
  #commits = 0;
  /** The commit after which `#hasUnfinished` was determined. */
  #unfinishedAtCommit = -1;
  #hasUnfinished = false;
  readonly #wallMs: (() => number) | undefined;
  readonly #findings: SimulationFindings;

  /** `nowMs`: milliseconds since the world began. `wallMs`: what all clocks show; undefined: clocks are wrong in this world. */
  constructor(findings: SimulationFindings, nowMs: () => number, wallMs: (() => number) | undefined) {
    this.#findings = findings;
    this.#wallMs = wallMs;
    this.#outbox = new OutboxModel(findings);
    this.kills = new KillModel(findings, nowMs);
    this.runs = new RunModel(findings);
    this.signals = new SignalModel((id) => this.generation(id));
    this.promises = new PromiseModel(findings);
    this.debounce = new DebounceModel(findings, (id) => this.generation(id));
    this.forks = new ForkModel(findings);
    this.attachments = new AttachModel(findings, () => this.#commits);
    this.#journals = new JournalModel(findings, this);
    this.flow = new FlowModel(findings, nowMs);
    this.attempts = new AttemptLedger(findings, this);
    this.state = new StateModel(findings, wallMs);
    this.locks = new LockModel(findings);
    this.undo = new UndoModel(findings);
  }

  /** Number of batches that have landed. */
  get commits(): number {
    return this.#commits;
  }

  /** The generation of the id, unless it is deleted. */
  generation(id: InvocationId): GenerationRecord | undefined {
    const generation = this.#generations.get(id);
    return generation?.isDeleted === true ? undefined : generation;
  }

  /** Also a generation that is over and deleted. */
  latestGeneration(id: InvocationId): GenerationRecord | undefined {
    return this.#generations.get(id);
  }

  generations(): Iterable<GenerationRecord> {
    return this.#generations.values();
  }

  *unfinished(): Generator<GenerationRecord, void> {
    for (const generation of this.#generations.values())
      if (!generation.isDeleted && generation.invocation.status !== "completed") yield generation;
  }

  /** Whether `unfinished` has any; determined once for each commit. */
  get hasUnfinished(): boolean {
    if (this.#unfinishedAtCommit !== this.#commits) {
      this.#unfinishedAtCommit = this.#commits;
      this.#hasUnfinished = this.unfinished().next().done !== true;
    }
    return this.#hasUnfinished;
  }

  get undeliveredCount(): number {
    return this.#outbox.undelivered.size;
  }

  get timersStored(): ReadonlySet<string> {
    return this.#timers;
  }

  /** The first seed that a generation was started with. */
  seedOf(generation: GenerationRecord, seed: bigint): bigint {
    const name = `${generation.id}/${generation.number}`;
    const existing = this.#seeds.get(name);
    if (existing !== undefined) return existing;
    this.#seeds.set(name, seed);
    return seed;
  }

  messageSent(producer: string, seq: number, command: PartitionCommand): void {
    this.#outbox.sent(producer, seq, command);
  }

  // ── batches ────────────────────────────────────────────────────────────────────────────────────

  applied(batches: readonly PartitionBatch[]): void {
    this.#commits++;
    const touched = new Set<InvocationId>();
    for (const { partition, mutations } of batches) {
      const restorations = this.undo.restorationsOf(mutations);
      for (const mutation of mutations) {
        if (mutation.kind === "appendEntry" && restorations.entries.has(mutation)) this.#appendEarly(mutation);
        else if (mutation.kind === "putInvocation" && restorations.puts.has(mutation)) {
          touched.add(mutation.invocation.facts.id);
          this.#restored(partition, mutation.invocation);
        } else if (!this.undo.owns(mutation)) this.#mutation(partition, mutation, touched);
      }
    }
    for (const id of touched) {
      const generation = this.generation(id);
      if (generation !== undefined) this.#journals.agrees(generation);
    }
    this.#findings.require(this.#early.size === 0, "entries belong to an invocation", () => [...this.#early.keys()].join());
    this.#early.clear();
    this.state.endOfBatch();
    this.attachments.endOfBatch();
    this.kills.endOfBatch((id) => this.generation(id), this.#outbox.undelivered, this.#commits);
    this.#workflowsGone();
  }

  #mutation(partition: number, mutation: Mutation, touched: Set<InvocationId>): void {
    switch (mutation.kind) {
      case "putInvocation":
        touched.add(mutation.invocation.facts.id);
        return this.#put(partition, mutation.invocation);
      case "deleteInvocation":
        return this.#delete(mutation.id);
      case "appendEntry":
        touched.add(mutation.id);
        return this.#append(mutation.id, mutation.index, mutation.entry);
      case "deleteJournal":
        return this.#dropJournal(mutation.id, mutation.length);
      case "putState":
        if (mutation.service === DEBOUNCE_SERVICE) return this.debounce.put(mutation.key, mutation.value);
        this.#deletedWorkflows.delete(`${mutation.service}/${mutation.key}`);
        if (!this.state.put(mutation.service, mutation.key, mutation.stateKey, mutation.value)) this.#edited(mutation);
        return;
      case "deleteState":
        if (mutation.service === DEBOUNCE_SERVICE) return this.debounce.deleted(mutation.key);
        if (!this.state.delete(mutation.service, mutation.key, mutation.stateKey)) this.#edited(mutation);
        return;
      case "putLock":
        return this.locks.locked(`${mutation.service}/${mutation.key}`, mutation.lock);
      case "deleteLock":
        return this.locks.unlocked(`${mutation.service}/${mutation.key}`);
      case "putInbox":
        return this.#queued(`${mutation.service}/${mutation.key}`, mutation.entry);
      case "putTimer":
        this.#timers.add(timerText(mutation.timer));
        return;
      case "deleteTimer":
        this.#timers.delete(timerText(mutation.timer));
        return;
      case "putOutbox":
        return this.#outbox.put(partition, mutation.message.seq, mutation.message.command, this.#commits);
      case "deleteOutbox":
        return this.#acknowledged(partition, mutation.seq);
      case "putDedup":
        return this.#received(partition, mutation.producer, mutation.seq);
      case "putBucket":
      case "deleteBucket":
      case "putPause":
      case "deletePause":
      case "putEvent":
      case "deleteEvents":
      case "deleteInbox":
        return;
      case "putPromise":
        this.#deletedWorkflows.delete(`${mutation.service}/${mutation.key}`);
        return this.promises.put(`${mutation.service}/${mutation.key}/${mutation.name}`, mutation.promise);
      case "deletePromise":
        return this.promises.delete(`${mutation.service}/${mutation.key}/${mutation.name}`);
    }
  }

  #acknowledged(partition: number, seq: number): void {
    const message = this.#outbox.acknowledged(partition, seq);
    if (message === undefined) return;
    this.kills.acknowledged(
      message,
      (id) => this.generation(id),
      (id, mark) => this.undo.isUndone(id, mark),
    );
  }

  #received(partition: number, producer: string, seq: number): void {
    const command = this.#outbox.received(partition, producer, seq);
    if (command?.kind === "signal") this.signals.received(command.id, command.signal);
  }

  /**
   * State that no handler changed: an edit from outside waits for the holder of the object, but not for workflows, which are deleted
   * whole.
   */
  #edited({ service, key }: { readonly service: string; readonly key: string }): void {
    const holder = service === "O" ? this.locks.holder(`${service}/${key}`) : undefined;
    const status = holder === undefined ? undefined : this.generation(holder)?.invocation.status;
    const isFree = status === undefined || status === "completed";
    this.#findings.require(isFree, "an edit of state waits for the handler", () => `${service}/${key}, held by ${holder}`);
  }

  #queued(object: string, entry: InboxEntry): void {
    if (entry.kind === "invocation") this.locks.joined(object, entry.id);
  }

  // ── invocations ────────────────────────────────────────────────────────────────────────────────

  #put(partition: number, invocation: Invocation): void {
    const { id } = invocation.facts;
    const before = this.generation(id);
    this.state.ttls.moved(before?.invocation, invocation, this.state);
    this.flow.put(before?.invocation, invocation);
    if (before === undefined) return this.#born(partition, invocation);
    const from = before.invocation;
    checkTransition(this.#findings, before, invocation);
    if (from.status === "inboxed" && invocation.status !== "inboxed") this.#leftQueue(before);
    if (from.status === "invoked") this.runs.moved(before, invocation);
    if (from.status === "scheduled" && invocation.status !== "scheduled") {
      this.debounce.begins(before, invocation);
      this.notBefore(from.facts.executionTimeMs, () => `${id} begins`);
    }
    before.invocation = invocation;
    if (invocation.status === "completed") this.#ended(before, invocation.outcome);
  }

  #born(partition: number, invocation: Invocation): void {
    const { id } = invocation.facts;
    const last = this.#generations.get(id);
    const mayLiveAgain = hasDeterministicId(invocation.facts) || invocation.facts.completionRetentionMs === 0;
    const isAllowed = last === undefined || mayLiveAgain || last.removalRequested;
    this.#findings.require(isAllowed, "an invocation is accepted once", () => id);
    const generation = newGeneration(partition, invocation, last, this.#commits);
    this.#generations.set(id, generation);
    this.attachments.exists(invocation);
    this.state.throttle.born(invocation);
    this.#takeEarly(generation, invocation.facts.source.kind === "restart");
    this.forks.copied(generation);
    if (invocation.status === "completed")
      this.#findings.report("an invocation makes only valid transitions", `${id} is created as completed`);
  }

  #takeEarly(generation: GenerationRecord, copied: boolean): void {
    for (const entry of this.#early.get(generation.id) ?? []) this.#journals.journaled(generation, entry, copied);
    this.#early.delete(generation.id);
  }

  /** Its end or its deletion was undone. */
  #restored(partition: number, invocation: Invocation): void {
    const { id, target } = invocation.facts;
    const generation = restoredGeneration(partition, invocation, this.#generations.get(id), this.#commits);
    this.#generations.set(id, generation);
    this.attachments.exists(invocation);
    this.flow.put(undefined, invocation);
    this.kills.restored(generation);
    this.#deletedWorkflows.delete(`${target.service}/${target.key}`);
    if (isExclusive(target)) this.state.restored(target.service, target.key);
    this.#takeEarly(generation, true);
  }

  #ended(generation: GenerationRecord, outcome: Outcome): void {
    if (generation.outcome !== undefined) {
      const same = outcomeText(generation.outcome) === outcomeText(outcome);
      this.#findings.require(
        same,
        "an invocation ends once",
        () => `${generation.id}: ${outcomeText(generation.outcome as Outcome)}, then ${outcomeText(outcome)}`,
      );
      return;
    }
    generation.outcome = outcome;
    this.attachments.ended(generation.id, outcome);
    this.kills.over(generation);
    if (outcome.kind === "failure" && outcome.failure.message === "killed")
      this.kills.killed({ id: generation.id, children: calleesOf(generation), completed: completedCalleesOf(generation) });
  }

  /** Clocks of a world agree, or times are not checked. */
  notBefore(dueAtMs: number | undefined, what: () => string): void {
    const nowMs = this.#wallMs?.() ?? Number.POSITIVE_INFINITY;
    this.#findings.require((dueAtMs ?? 0) <= nowMs + 1, "a timer never fires early", () => `${what()}: ${dueAtMs} at ${nowMs}`);
  }

  #leftQueue(generation: GenerationRecord): void {
    const { target } = generation.facts;
    if (isExclusive(target)) this.locks.left(`${target.service}/${target.key}`, generation.id);
  }

  #delete(id: InvocationId): void {
    const generation = this.generation(id);
    if (generation === undefined) return this.#findings.report("only existing rows are deleted", id);
    if (generation.invocation.status === "inboxed") this.#leftQueue(generation);
    generation.isDeleted = true;
    this.attachments.deleted(generation);
    this.kills.over(generation);
    this.runs.generationDeleted(generation);
    this.flow.left(id);
    const { target } = generation.facts;
    if (isWorkflowRun(target)) this.#deletedWorkflows.add(`${target.service}/${target.key}`);
  }

  /** The state and the promises of a workflow are deleted with it. */
  #workflowsGone(): void {
    for (const workflow of this.#deletedWorkflows) {
      const [service, key] = workflow.split("/") as [string, string];
      const left = [...this.state.of(service, key).keys(), ...this.promises.of(workflow)];
      this.#findings.require(left.length === 0, "a deleted workflow leaves no rows", () => `${workflow}: ${left.join()}`);
    }
    this.#deletedWorkflows.clear();
  }

  // ── journals ───────────────────────────────────────────────────────────────────────────────────

  #append(id: InvocationId, index: number, entry: JournalEntry): void {
    const generation = this.generation(id);
    if (generation !== undefined) {
      this.#findings.require(
        index === generation.entries.length,
        "a journal grows at its end",
        () => `${id}: ${index} at ${generation.entries.length}`,
      );
      return this.#journals.journaled(generation, entry, index < generation.rewrittenLength);
    }
    this.#appendEarly({ id, index, entry });
  }

  #appendEarly({ id, index, entry }: { readonly id: InvocationId; readonly index: number; readonly entry: JournalEntry }): void {
    const early = this.#early.get(id) ?? [];
    this.#early.set(id, early);
    this.#findings.require(index === early.length, "a journal grows at its end", () => `${id}: ${index} at ${early.length}`);
    early.push(entry);
  }

  promiseIsCompleted(service: string, key: string, name: string): boolean {
    return this.promises.isCompleted(`${service}/${key}/${name}`);
  }

  #dropJournal(id: InvocationId, length: number): void {
    const generation = this.generation(id);
    if (generation === undefined) return this.#findings.report("only existing rows are deleted", `journal of ${id}`);
    this.#journals.dropped(generation, length);
  }
}
