/**
 * One run of an invocation: from the moment the partition hands the invocation over until it takes it back. Attempts follow each other
 * under one run number, each replaying the entries that the earlier ones stored.
 *
 *     queued ─▶ reading ─▶ attempting ─▶ (suspended, ended, paused, killed) over
 *       ▲ slot              │ failed
 *       └── recovering ◀────┘   drained, backed off, and everything submitted before is durable
 */
import type { InvocationId } from "@perdure/base";
import type { LostAttempt } from "@perdure/endpoint-transport";
import { futureToJson } from "@perdure/service-protocol";
import {
  type AttemptCommand,
  type EntryStored,
  hasState,
  type InvocationFacts,
  type JournalEntry,
  keyspaceOf,
  type Milestones,
  runningSinceMs,
  type StartRun,
} from "@perdure/state-machine";
import type { Attempt } from "./attempt.js";
import { type AttemptFailure, failure } from "./attempt-failure.js";
import type { AttemptOwner } from "./attempt-owner.js";
import type { AttemptEnding } from "./attempt-plan.js";
import { AttemptRecord } from "./attempt-record.js";
import { JournalTail } from "./journal-tail.js";
import { RETRY_DELAY_MS_MAX } from "./limits.js";
import { openAttempt } from "./open-attempt.js";
import { type AttemptRoute, routeOf } from "./pin.js";
import type { CutAttempt, InvokerStatus } from "./ports.js";
import { Recovery } from "./recovery.js";
import type { RunContext } from "./run-context.js";
import { RunFailures } from "./run-failures.js";
import { RunPin } from "./run-pin.js";
import { RunSlot } from "./run-slot.js";
import type { SlotUser } from "./slots.js";

/** Number of an invocation's first run; a later run continues after a suspension or a pause. */
const FIRST_RUN = 1;

export class Run implements AttemptOwner, SlotUser {
  readonly id: InvocationId;
  /** The run number that fences its commands. */
  readonly number: number;
  readonly isContinuation: boolean;
  readonly #facts: InvocationFacts;
  readonly #context: RunContext;
  readonly #journal: JournalTail;
  #phase: "queued" | "reading" | "attempting" | "recovering" | "over" = "queued";
  /** Whether the handler of a failed attempt may still run, so that a run that must not overlap with it has to wait for its stream. */
  #isInTheWay = false;
  readonly #slot: RunSlot;
  readonly #pin: RunPin;
  readonly #record: AttemptRecord;
  #pauseRequested: boolean;
  /** Time at which the run began or continued after its last suspension; undefined while it is not counted. */
  #sinceMs: number | undefined;
  readonly #milestones: Milestones;
  /** Set also while its stream drains after the outcome. */
  #attempt: Attempt | undefined;
  /** Recovery in the phase `recovering`. */
  #recovery: Recovery | undefined;
  /** Created at the first failure. */
  #failures: RunFailures | undefined;
  /** An attempt of another process that ended with its process; reported with the first attempt of this run. */
  readonly #lost: LostAttempt | undefined;

  constructor({ invocation, firstEntries, isRecovered }: StartRun, context: RunContext) {
    this.id = invocation.facts.id;
    this.number = invocation.run;
    this.isContinuation = invocation.run > FIRST_RUN || invocation.sinks.length > 0;
    this.#facts = invocation.facts;
    this.#milestones = invocation.milestones;
    this.#context = context;
    this.#journal = new JournalTail(invocation, firstEntries);
    this.#slot = new RunSlot(this, context);
    this.#pin = new RunPin(invocation.pinned);
    this.#record = new AttemptRecord(context.clock, context.metrics);
    this.#pauseRequested = invocation.pauseRequested;
    if (isRecovered !== true) return;
    const atMs = context.clock.nowMs();
    this.#lost = { sinceMs: runningSinceMs(invocation.milestones) ?? atMs, atMs };
  }

  start(): void {
    const { clock, metrics } = this.#context;
    this.#sinceMs = runningSinceMs(this.#milestones) ?? clock.nowMs();
    metrics.running(this.#sinceMs, 1);
    this.#slot.acquire();
    if (this.#phase === "queued") this.#journal.waitLong();
  }

  // ── calls of the partition ─────────────────────────────────────────────────────────────────────

  entryStored(effect: EntryStored): void {
    this.#journal.stored(effect);
    if (this.#phase === "attempting") this.#attempt?.entryStored(effect);
    else if (this.#phase === "queued") this.#journal.waitLong();
  }

  /**
   * The partition has taken the invocation back. A stream after its final message drains by itself; any other stream is reset, because
   * another run of the invocation, or the next one of its key, may begin now.
   */
  stop(): void {
    const hasEnded = (this.#phase === "over" || this.#phase === "recovering") && !this.#isInTheWay;
    return hasEnded ? this.#finish() : this.abandon();
  }

  /** An attempt runs: it has begun and has not ended. */
  get isAttempting(): boolean {
    return this.#phase === "attempting" || this.#phase === "reading";
  }

  /** Whether the outcome of the run was reported but its stream is still open. */
  get draining(): boolean {
    return this.#attempt !== undefined;
  }

  /** Cuts off everything, draining streams included: another process leads the partition, or this process ends. */
  abandon(): void {
    this.#finish();
    this.#attempt?.abort();
    this.#attempt = undefined;
    this.#slot.streamClosed();
    this.#slot.release();
  }

  requestPause(): void {
    this.#pauseRequested = true;
    switch (this.#phase) {
      case "attempting":
        this.#attempt?.closeRequest();
        return;
      case "queued":
      case "recovering":
        // Without a failure to report, the next attempt starts half-closed and suspends.
        this.#pauseAfterFailure();
        return;
      default:
        return;
    }
  }

  /** The running attempt has failed; the failure decides what follows. */
  interrupt(cause: AttemptFailure): void {
    if (this.#phase === "attempting") this.#attempt?.interrupt(cause);
  }

  /**
   * Cuts off the running attempt, as if its connection had broken: received commands are kept. The next attempt follows after the first
   * delay of its policy, of which nothing is used up. Returns undefined when none runs.
   */
  cut(): CutAttempt | undefined {
    if (this.#phase !== "attempting") return undefined;
    const cut = { attempt: this.#record.count, journalLength: this.#journal.length };
    const { initialIntervalMs } = this.#pin.policy(this.#facts.target, this.#context);
    const cause = { countsForSdk: false, nextRetryDelayMs: Math.min(initialIntervalMs, RETRY_DELAY_MS_MAX) };
    this.interrupt(failure("RT0101", "the attempt was cut off on request", cause));
    return cut;
  }

  retryNow(): void {
    this.#failures?.resetBudget();
    this.#recovery?.hurry();
  }

  status(): InvokerStatus {
    const awaiting = this.#phase === "attempting" ? this.#attempt?.awaiting : undefined;
    const hasStream = this.#phase === "attempting" && !this.#slot.isStreamWaiting;
    const { count, startedAtMs, deploymentId, server, endpointAnswer } = this.#record;
    return {
      id: this.id,
      inFlight: hasStream || this.#phase === "reading",
      retryCount: count,
      lastStartAtMs: startedAtMs,
      nextRetryAtMs: this.#recovery?.nextAttemptAtMs,
      lastAttemptDeploymentId: deploymentId,
      lastAttemptServer: server,
      lastFailure: this.#failures?.last,
      lastAwaitingJson: awaiting === undefined ? undefined : JSON.stringify(futureToJson(awaiting)),
      slotWait: this.#slot.wait,
      endpointAnswer: hasStream ? endpointAnswer : undefined,
    };
  }

  // ── an attempt begins ──────────────────────────────────────────────────────────────────────────

  get service(): string {
    return this.#facts.target.service;
  }

  get endpoint(): string | undefined {
    return this.#record.deploymentId;
  }

  get isWaitingForSlot(): boolean {
    return this.#slot.isWaiting;
  }

  get queuedAtMs(): number {
    return this.#slot.queuedAtMs;
  }

  blockedSinceMs(): number | undefined {
    return this.#phase === "attempting" ? this.#attempt?.blockedSinceMs() : undefined;
  }

  get blockage() {
    return this.#phase === "attempting" ? this.#attempt?.blockage : undefined;
  }

  suspendBlocked(): void {
    if (this.#phase === "attempting") this.#attempt?.suspendBlocked();
  }

  slotGranted(): boolean {
    this.#slot.isWaiting = false;
    if (this.#phase !== "queued") return false;
    this.#slot.granted(this.id, this.number);
    this.#begin();
    return true;
  }

  #begin(): void {
    const { registry, options } = this.#context;
    const { target } = this.#facts;
    this.#record.begin(this.#slot.queuedAtMs);
    const routing = routeOf(target, this.#pin.pinned, registry, options.protocolVersionMax);
    if (routing.kind === "failed") return this.#failBeforeOpening(routing.failure);
    this.#record.goesTo(routing.deployment);
    this.#pin.choose(routing);
    const needsState = hasState(target) && routing.handler?.enableLazyState !== true && options.eagerStateBytesMax > 0;
    const entries = this.#journal.take();
    if (entries !== undefined && !needsState) return this.#open(routing, entries, undefined);
    this.#read(routing, entries, needsState);
  }

  #read(route: AttemptRoute, handed: readonly JournalEntry[] | undefined, needsState: boolean): void {
    const { host } = this.#context;
    const { target } = this.#facts;
    const { count: attemptCount } = this.#record;
    this.#phase = "reading";
    const length = this.#journal.beginReading();
    const current = () => this.#phase === "reading" && this.#record.count === attemptCount;
    const journal = handed ?? host.readJournal(this.id, length);
    const allState = needsState ? host.readState(this.id, keyspaceOf(target), target.key ?? "") : undefined;
    Promise.all([journal, allState]).then(
      ([read, state]) => {
        if (!current()) return;
        const entries = this.#journal.endReading(read);
        if (entries !== undefined) return this.#open(route, entries, state);
        const why = `the journal has ${read.length} entries instead of ${length}`;
        this.#failBeforeOpening(failure("RT0006", why, { countsForSdk: false }));
      },
      (cause: unknown) => current() && this.#failBeforeOpening(this.#countedFailures().ofStorage(cause)),
    );
  }

  #open(route: AttemptRoute, entries: readonly JournalEntry[], state: ReadonlyMap<string, Uint8Array> | undefined): void {
    this.#phase = "attempting";
    const opening = {
      facts: this.#facts,
      run: this.number,
      route,
      entries,
      state,
      retryCountSinceLastStoredEntry: this.#failures?.retryCountSinceLastStoredEntry ?? 0,
      lastStoredAtMs: this.#journal.lastStoredAtMs,
      attempt: this.#record.count,
      lost: this.#record.count === 1 ? this.#lost : undefined,
    };
    const opened = openAttempt(opening, this, this.#context);
    if (opened.kind === "failed") return this.#failBeforeOpening(opened.failure);
    this.#attempt = opened.attempt;
    // In this mode a response may arrive only when the handler has ended.
    if (!opened.attempt.isBidirectional) this.#context.slots.answered(this);
    if (this.#pauseRequested) opened.attempt.closeRequest();
  }

  // ── an attempt ends ────────────────────────────────────────────────────────────────────────────

  submit(command: AttemptCommand): void {
    this.#failures?.processed(command);
    this.#pin.submitTo(this.#context.host, this.id, this.number);
    this.#context.host.submit(command);
  }

  whenDurable(callback: () => void): void {
    this.#context.host.whenDurable(callback);
  }

  get stage(): ((body: Uint8Array) => Promise<Disposable>) | undefined {
    return this.#context.host.stage;
  }

  headersReceived(): void {
    this.#record.endpointAnswer = "headers";
  }

  responded(): void {
    this.#record.endpointAnswer = "messages";
    this.#context.slots.answered(this);
  }

  streamWaits(isWaiting: boolean): void {
    this.#slot.streamWaits(isWaiting);
  }

  serverIdentified(name: string): void {
    this.#record.server = name;
  }

  attemptEnded(ending: AttemptEnding): void {
    if (ending.kind === "failed") return this.#fail(ending.failure);
    this.#phase = "over"; // The partition stops the run, or starts the next one.
    this.#record.ended(ending.kind, undefined);
  }

  attemptOver(): void {
    this.#attempt = undefined;
    this.#isInTheWay = false;
    this.#slot.streamClosed();
    this.#slot.release();
    if (this.#recovery !== undefined) this.#recovery.drained();
    else this.#context.drained(this);
  }

  #failBeforeOpening(cause: AttemptFailure): void {
    this.#fail(cause);
    this.#slot.release();
    this.#recovery?.drained();
  }

  #fail(cause: AttemptFailure): void {
    const failures = this.#countedFailures();
    const refusalDelayMs = failures.refusalDelayMs(cause);
    if (refusalDelayMs !== undefined) return this.#tryElsewhere(refusalDelayMs);
    const { error } = cause;
    failures.counted(cause);
    this.#record.ended("failed", error.errorCode);
    const decision = failures.decide(cause, this.#pin.policy(this.#facts.target, this.#context));
    // After the end of an invocation without a key nothing else begins: the handler may receive the end of its request, as with the
    // reference.
    this.#isInTheWay = cause.mayStillRun && (decision.action !== "kill" || this.#facts.target.key !== undefined);
    failures.log(error, this.#record, decision);
    this.#phase = decision.action === "retry" ? "recovering" : "over";
    this.#pin.drop();
    failures.report(error, decision.action, false);
    if (decision.action === "retry") this.#recover(decision.delayMs);
  }

  /** Another connection may accept the stream that this one refused. */
  #tryElsewhere(delayMs: number): void {
    this.#record.unprocessed();
    this.#phase = "recovering";
    this.#pin.drop();
    this.#recover(delayMs);
  }

  #countedFailures(): RunFailures {
    this.#failures ??= new RunFailures(this.#facts, this.number, this.#context);
    return this.#failures;
  }

  #recover(delayMs: number): void {
    this.#context.metrics.backingOff(1);
    this.#recovery = new Recovery(delayMs, {
      clock: this.#context.clock,
      whenDurable: (callback) => this.whenDurable(callback),
      recovered: () => {
        this.#recovery = undefined;
        this.#phase = "queued";
        this.#context.metrics.backingOff(-1);
        this.#slot.acquire();
      },
    });
  }

  #pauseAfterFailure(): void {
    if (this.#failures?.last === undefined) return;
    this.#finish();
    this.#failures.report(this.#failures.last, "pause", true);
  }

  #finish(): void {
    this.#phase = "over";
    this.#slot.withdraw();
    this.#record.brokenOff();
    if (this.#sinceMs !== undefined) this.#context.metrics.running(this.#sinceMs, -1);
    this.#sinceMs = undefined;
    if (this.#recovery === undefined) return;
    this.#recovery.cancel();
    this.#recovery = undefined;
    this.#context.metrics.backingOff(-1);
  }
}
