/**
 * One run of an invocation: from the moment the partition hands the invocation over until it takes it back. Attempts follow each other
 * under one run number, each replaying the entries that the earlier ones stored.
 *
 *     queued ─▶ reading ─▶ attempting ─▶ (suspended, ended, paused, killed) over
 *       ▲ slot              │ failed
 *       └── recovering ◀────┘   drained, backed off, and everything submitted before is durable
 */
import { backoffMs, type InvocationId, PerdureError } from "@perdure/base";
import type { DeploymentView, RetryPolicy } from "@perdure/control";
import type { LostAttempt } from "@perdure/endpoint-transport";
import { futureToJson } from "@perdure/service-protocol";
import {
  type AttemptCommand,
  type AttemptError,
  type EntryStored,
  hasState,
  type InvocationFacts,
  type JournalEntry,
  keyspaceOf,
  type Milestones,
  type Pinned,
  runningSinceMs,
  type StartRun,
} from "@perdure/state-machine";
import type { Attempt } from "./attempt.js";
import { type AttemptFailure, failure } from "./attempt-failure.js";
import type { AttemptOwner } from "./attempt-owner.js";
import type { AttemptEnding } from "./attempt-plan.js";
import type { Blockage } from "./blockage.js";
import { JournalTail } from "./journal-tail.js";
import { LOGGED_REASON_CHARS_MAX, REFUSAL_BOUNDS, REFUSALS_MAX, RETRY_DELAY_MS_MAX, SLOT_WAIT_STORED_MS } from "./limits.js";
import type { AttemptTransport } from "./metrics.js";
import { openAttempt } from "./open-attempt.js";
import { type AttemptRoute, handlerFor, routeOf } from "./pin.js";
import type { CutAttempt, EndpointAnswer, InvokerStatus, SlotWait } from "./ports.js";
import { Recovery } from "./recovery.js";
import { RetryBudget } from "./retry-budget.js";
import type { RunContext } from "./run-context.js";
import type { SlotUser } from "./slots.js";
import { traceIdOf } from "./trace.js";

/** Number of an invocation's first run; a later run continues after a suspension or a pause. */
const FIRST_RUN = 1;

export class Run implements AttemptOwner, SlotUser {
  readonly id: InvocationId;
  /** The run number that fences its commands. */
  readonly number: number;
  queuedAtMs = 0;
  readonly isContinuation: boolean;
  readonly #facts: InvocationFacts;
  readonly #context: RunContext;
  readonly #journal: JournalTail;
  #phase: "queued" | "reading" | "attempting" | "recovering" | "over" = "queued";
  /** An attempt began, and its end was not reported yet. */
  #isEndPending = false;
  /** Whether the handler of a failed attempt may still run, so that a run that must not overlap with it has to wait for its stream. */
  #isInTheWay = false;
  #holdsSlot = false;
  #isWaitingForSlot = false;
  /** Time since which the attempt waits for a connection that accepts its stream. */
  #streamWaitSinceMs: number | undefined;
  #pinned: Pinned | undefined;
  /** The deployment is chosen, and the partition has not stored it yet. */
  #isPinPending = false;
  #pauseRequested: boolean;
  /** Time at which the run began or continued after its last suspension; undefined while it is not counted. */
  #sinceMs: number | undefined;
  readonly #milestones: Milestones;
  /** Set also while its stream drains after the outcome. */
  #attempt: Attempt | undefined;
  /** Recovery in the phase `recovering`. */
  #recovery: Recovery | undefined;
  /** Created at the first failure. */
  #budget: RetryBudget | undefined;

  #attemptCount = 0;
  #failureCount = 0;
  /** Consecutive streams that the endpoint refused without processing them. */
  #refusalCount = 0;
  #retryCountSinceLastStoredEntry = 0;
  #lastStartAtMs: number | undefined;
  #endpointAnswer: EndpointAnswer = "nothing";
  #lastFailure: AttemptError | undefined;
  #lastDeployment: string | undefined;
  #lastServer: string | undefined;
  /** An attempt of another process that ended with its process; reported with the first attempt of this run. */
  readonly #lost: LostAttempt | undefined;
  /** Number of the attempt that runs or ran last. */
  #transport: AttemptTransport = "none";

  constructor({ invocation, firstEntries, isRecovered }: StartRun, context: RunContext) {
    this.id = invocation.facts.id;
    this.number = invocation.run;
    this.isContinuation = invocation.run > FIRST_RUN || invocation.sinks.length > 0;
    this.#facts = invocation.facts;
    this.#milestones = invocation.milestones;
    this.#context = context;
    this.#journal = new JournalTail(invocation, firstEntries);
    this.#pinned = invocation.pinned;
    this.#pauseRequested = invocation.pauseRequested;
    if (isRecovered !== true) return;
    const atMs = context.clock.nowMs();
    this.#lost = { sinceMs: runningSinceMs(invocation.milestones) ?? atMs, atMs };
  }

  start(): void {
    const { clock, metrics } = this.#context;
    this.#sinceMs = runningSinceMs(this.#milestones) ?? clock.nowMs();
    metrics.running(this.#sinceMs, 1);
    this.#queue();
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
    if (!hasEnded) return this.abandon();
    this.#finish();
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
    this.#streamWaitSinceMs = undefined;
    this.#releaseSlot();
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
        if (this.#lastFailure !== undefined) this.#pauseWith(this.#lastFailure);
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
    const cut = { attempt: this.#attemptCount, journalLength: this.#journal.length };
    const { initialIntervalMs } = this.#policy();
    const cause = { countsForSdk: false, nextRetryDelayMs: Math.min(initialIntervalMs, RETRY_DELAY_MS_MAX) };
    this.interrupt(failure("RT0101", "the attempt was cut off on request", cause));
    return cut;
  }

  retryNow(): void {
    this.#budget?.reset();
    this.#recovery?.hurry();
  }

  status(): InvokerStatus {
    const awaiting = this.#phase === "attempting" ? this.#attempt?.awaiting : undefined;
    return {
      id: this.id,
      inFlight: (this.#phase === "attempting" && this.#streamWaitSinceMs === undefined) || this.#phase === "reading",
      retryCount: this.#attemptCount,
      lastStartAtMs: this.#lastStartAtMs,
      nextRetryAtMs: this.#recovery?.nextAttemptAtMs,
      lastAttemptDeploymentId: this.#lastDeployment,
      lastAttemptServer: this.#lastServer,
      lastFailure: this.#lastFailure,
      lastAwaitingJson: awaiting === undefined ? undefined : JSON.stringify(futureToJson(awaiting)),
      slotWait: this.#slotWait(),
      endpointAnswer: this.#phase === "attempting" && this.#streamWaitSinceMs === undefined ? this.#endpointAnswer : undefined,
    };
  }

  #slotWait(): SlotWait | undefined {
    const sinceMs = this.#isWaitingForSlot ? this.queuedAtMs : this.#streamWaitSinceMs;
    const { service, isContinuation } = this;
    return sinceMs === undefined ? undefined : { service, isContinuation, sinceMs };
  }

  // ── an attempt begins ──────────────────────────────────────────────────────────────────────────

  get service(): string {
    return this.#facts.target.service;
  }

  get endpoint(): string | undefined {
    return this.#lastDeployment;
  }

  get isWaitingForSlot(): boolean {
    return this.#isWaitingForSlot;
  }

  blockedSinceMs(): number | undefined {
    return this.#phase === "attempting" ? this.#attempt?.blockedSinceMs() : undefined;
  }

  get blockage(): Blockage | undefined {
    return this.#phase === "attempting" ? this.#attempt?.blockage : undefined;
  }

  suspendBlocked(): void {
    if (this.#phase === "attempting") this.#attempt?.suspendBlocked();
  }

  slotGranted(): boolean {
    this.#isWaitingForSlot = false;
    if (this.#phase !== "queued") return false;
    this.#holdsSlot = true;
    this.#reportWait();
    this.#begin();
    return true;
  }

  #reportWait(): void {
    const { host, clock } = this.#context;
    const untilMs = clock.nowMs();
    if (untilMs - this.queuedAtMs < SLOT_WAIT_STORED_MS) return;
    host.submit({ kind: "slotWaited", id: this.id, run: this.number, sinceMs: this.queuedAtMs, untilMs });
  }

  #begin(): void {
    const { registry, options, clock, metrics } = this.#context;
    this.#attemptCount++;
    this.#lastStartAtMs = clock.nowMs();
    this.#endpointAnswer = "nothing";
    metrics.attemptStarted(Math.max(0, this.#lastStartAtMs - this.queuedAtMs));
    this.#isEndPending = true;
    const routing = routeOf(this.#facts.target, this.#pinned, registry, options.protocolVersionMax);
    if (routing.kind === "failed") return this.#failBeforeOpening(routing.failure);
    this.#pin(routing);
    const needsState =
      hasState(this.#facts.target) && routing.handler?.enableLazyState !== true && options.eagerStateBytesMax > 0;
    const entries = this.#journal.take();
    if (entries !== undefined && !needsState) return this.#open(routing, entries, undefined);
    this.#read(routing, entries, needsState);
  }

  /** Stored only together with the handler's first command: until then the next attempt may choose again and use corrected code. */
  #pin({ deployment, version }: AttemptRoute): void {
    this.#lastDeployment = deployment.id;
    this.#transport = transportOf(deployment);
    if (this.#pinned !== undefined) return;
    this.#pinned = { deploymentId: deployment.id, protocolVersion: version };
    this.#isPinPending = true;
  }

  #read(route: AttemptRoute, handed: readonly JournalEntry[] | undefined, needsState: boolean): void {
    const { host } = this.#context;
    const { target } = this.#facts;
    const attemptCount = this.#attemptCount;
    this.#phase = "reading";
    const length = this.#journal.beginReading();
    const current = () => this.#phase === "reading" && this.#attemptCount === attemptCount;
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
      (cause: unknown) => {
        if (current()) this.#failBeforeOpening(this.#storageFailure(cause));
      },
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
      retryCountSinceLastStoredEntry: this.#retryCountSinceLastStoredEntry,
      lastStoredAtMs: this.#journal.lastStoredAtMs,
      attempt: this.#attemptCount,
      lost: this.#attemptCount === 1 ? this.#lost : undefined,
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
    this.#refusalCount = 0;
    if (command.kind === "appendCommand") this.#retryCountSinceLastStoredEntry = 0;
    if (this.#isPinPending && this.#pinned !== undefined) {
      this.#isPinPending = false;
      this.#context.host.submit({ kind: "pin", id: this.id, run: this.number, pinned: this.#pinned });
    }
    this.#context.host.submit(command);
  }

  whenDurable(callback: () => void): void {
    this.#context.host.whenDurable(callback);
  }

  get stage(): ((body: Uint8Array) => Promise<Disposable>) | undefined {
    return this.#context.host.stage;
  }

  headersReceived(): void {
    this.#endpointAnswer = "headers";
  }

  responded(): void {
    this.#endpointAnswer = "messages";
    this.#context.slots.answered(this);
  }

  streamWaits(isWaiting: boolean): void {
    this.#streamWaitSinceMs = isWaiting ? this.#context.clock.nowMs() : undefined;
    this.#context.slots.streamWaits(this, isWaiting);
  }

  serverIdentified(name: string): void {
    this.#lastServer = name;
  }

  attemptEnded(ending: AttemptEnding): void {
    if (ending.kind === "failed") return this.#fail(ending.failure);
    this.#phase = "over"; // The partition stops the run, or starts the next one.
    this.#countEnd(ending.kind, undefined);
  }

  attemptOver(): void {
    this.#attempt = undefined;
    this.#isInTheWay = false;
    this.#streamWaitSinceMs = undefined;
    this.#releaseSlot();
    if (this.#recovery !== undefined) this.#recovery.drained();
    else this.#context.drained(this);
  }

  #failBeforeOpening(cause: AttemptFailure): void {
    this.#fail(cause);
    this.#releaseSlot();
    this.#recovery?.drained();
  }

  #fail(cause: AttemptFailure): void {
    if (cause.isUnprocessed && this.#refusalCount < REFUSALS_MAX) return this.#tryElsewhere();
    const { error } = cause;
    this.#failureCount++;
    this.#lastFailure = error;
    if (cause.countsForSdk) this.#retryCountSinceLastStoredEntry++;
    this.#countEnd("failed", error.errorCode);
    const decision = this.#decide(cause);
    // After the end of an invocation without a key nothing else begins: the handler may receive the end of its request, as with the
    // reference.
    this.#isInTheWay = cause.mayStillRun && (decision.action !== "kill" || this.#facts.target.key !== undefined);
    this.#context.failureLog.warn(
      this.#context.logger,
      { service: this.#facts.target.service, code: error.errorCode },
      {
        ...traceIdOf(this.#facts.trace),
        invocationId: this.id,
        deployment: this.#lastDeployment,
        target: `${this.#facts.target.service}/${this.#facts.target.handler}`,
        run: this.number,
        attempt: this.#attemptCount,
        code: error.errorCode,
        reason: error.message.slice(0, LOGGED_REASON_CHARS_MAX),
        command: error.relatedCommandName,
        action: decision.action,
        delayMs: Math.round(decision.delayMs),
      },
      "attempt failed",
    );
    this.#phase = decision.action === "retry" ? "recovering" : "over";
    this.#unpin();
    this.#reportFailure(error, decision.action, false);
    if (decision.action === "retry") this.#recover(decision.delayMs);
  }

  /**
   * Another connection may accept the stream that this one refused: the retry follows soon, and nothing of the retry policy is used up.
   */
  #tryElsewhere(): void {
    const { random, metrics } = this.#context;
    const delayMs = backoffMs(this.#refusalCount++, REFUSAL_BOUNDS, random);
    this.#attemptCount--;
    metrics.attemptBrokenOff();
    this.#isEndPending = false;
    this.#phase = "recovering";
    this.#unpin();
    this.#recover(delayMs);
  }

  /** Nothing was stored yet: the next attempt may choose another deployment. */
  #unpin(): void {
    if (!this.#isPinPending) return;
    this.#isPinPending = false;
    this.#pinned = undefined;
  }

  #queue(): void {
    this.queuedAtMs = this.#context.clock.nowMs();
    this.#isWaitingForSlot = true;
    this.#context.slots.acquire(this);
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
        this.#queue();
      },
    });
  }

  #decide({ behavior, nextRetryDelayMs }: AttemptFailure): { action: "retry" | "pause" | "kill"; delayMs: number } {
    if (behavior === "pause") return { action: "pause", delayMs: 0 };
    if (behavior === "fail") return { action: "kill", delayMs: 0 };
    if (nextRetryDelayMs !== undefined) return { action: "retry", delayMs: nextRetryDelayMs };
    const policy = this.#policy();
    this.#budget ??= new RetryBudget(this.#context.random, this.#context.options.attemptsMax);
    const delayMs = this.#budget.next(policy);
    return delayMs === undefined ? { action: policy.onMaxAttempts, delayMs: 0 } : { action: "retry", delayMs };
  }

  #policy(): RetryPolicy {
    const { registry, options } = this.#context;
    return handlerFor(this.#facts.target, this.#pinned, registry)?.retryPolicy ?? options.retryPolicyDefault;
  }

  #reportFailure(error: AttemptError, then: "retry" | "pause" | "kill", isRepeated: boolean): void {
    this.#context.host.submit({
      kind: "attemptFailed",
      id: this.id,
      run: this.number,
      error,
      then,
      failureCount: this.#failureCount,
      isRepeated,
    });
  }

  #pauseWith(error: AttemptError): void {
    this.#finish();
    this.#reportFailure(error, "pause", true);
  }

  #finish(): void {
    this.#phase = "over";
    if (this.#isWaitingForSlot) {
      this.#isWaitingForSlot = false;
      this.#context.slots.withdraw(this);
    }
    if (this.#isEndPending) this.#context.metrics.attemptBrokenOff();
    this.#isEndPending = false;
    if (this.#sinceMs !== undefined) this.#context.metrics.running(this.#sinceMs, -1);
    this.#sinceMs = undefined;
    if (this.#recovery === undefined) return;
    this.#recovery.cancel();
    this.#recovery = undefined;
    this.#context.metrics.backingOff(-1);
  }

  #releaseSlot(): void {
    if (!this.#holdsSlot) return;
    this.#holdsSlot = false;
    this.#context.slots.release(this);
  }

  #countEnd(how: "ended" | "suspended" | "failed", errorCode: string | undefined): void {
    const { metrics, clock } = this.#context;
    if (!this.#isEndPending) return; // The attempt was cut off before.
    this.#isEndPending = false;
    metrics.attemptEnded(how, errorCode, clock.nowMs() - (this.#lastStartAtMs ?? clock.nowMs()), this.#transport);
  }

  #storageFailure(cause: unknown): AttemptFailure {
    const error = PerdureError.from(cause);
    this.#context.logger.error({ invocationId: this.id, run: this.number, error, cause }, "journal or state could not be read");
    return failure("RT0006", `journal or state could not be read: ${error.detail}`, { countsForSdk: false });
  }
}

function transportOf({ address }: DeploymentView): AttemptTransport {
  if (address.kind === "lambda") return "lambda";
  return address.httpVersion === "HTTP/1.1" ? "h1" : "h2";
}
