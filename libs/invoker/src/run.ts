/**
 * One run of an invocation: from the moment the partition hands it over until it takes it back. Attempts follow each other under one
 * run number, each replaying what the earlier ones stored.
 *
 *     queued ─▶ reading ─▶ attempting ─▶ (suspended, ended, paused, killed) over
 *       ▲ slot              │ failed
 *       └── recovering ◀────┘   drained, backed off, and everything submitted before is durable
 */
import type { InvocationId, Random, TimerHandle } from "@perdure/base";
import { PerdureError } from "@perdure/base";
import type { DeploymentView, RetryPolicy } from "@perdure/control";
import {
  type AttemptCommand,
  type AttemptError,
  type EntryStored,
  hasState,
  type InvocationFacts,
  type JournalEntry,
  type Pinned,
  type StartRun,
} from "@perdure/partition";
import { futureToJson } from "@perdure/service-protocol";
import { Attempt, type AttemptContext, type AttemptOwner } from "./attempt.js";
import { type AttemptFailure, failure } from "./attempt-failure.js";
import type { AttemptEnding, AttemptPlan } from "./attempt-machine.js";
import type { RequestIdentity } from "./identity.js";
import { HELD_JOURNAL_BYTES_MAX } from "./limits.js";
import type { InvokerMetrics } from "./metrics.js";
import type { InvokerOptions } from "./options.js";
import { handlerFor, type Route, routeOf } from "./pin.js";
import type { EndpointTransport, InvokerHost, InvokerStatus, StreamRequest } from "./ports.js";
import { invokePath, requestHeaders } from "./request-headers.js";
import { RetryBudget } from "./retry-budget.js";
import type { Slots, SlotUser } from "./slots.js";
import { childSpan } from "./trace.js";

export interface RunContext extends Omit<AttemptContext, "transport"> {
  readonly host: InvokerHost;
  readonly random: Random;
  readonly slots: Slots;
  readonly options: InvokerOptions;
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport | undefined };
  readonly identity: RequestIdentity | undefined;
  readonly metrics: InvokerMetrics;
  /** The last stream of a run that was stopped is gone. */
  drained(run: Run): void;
}

/** Never pushed to. */
const NONE: JournalEntry[] = [];

export class Run implements AttemptOwner, SlotUser {
  readonly id: InvocationId;
  /** The number that fences its commands. */
  readonly number: number;
  readonly #facts: InvocationFacts;
  readonly #context: RunContext;
  /** Made at the first failure. */
  #budget: RetryBudget | undefined;
  #phase: "queued" | "reading" | "attempting" | "recovering" | "over" = "queued";
  #holdsSlot = false;
  #pinned: Pinned | undefined;
  #pauseRequested: boolean;

  /** Entries known to be durable. */
  #length: number;
  #lastStoredAtMs: number;
  /** The whole journal as handed over, until the first attempt has used it. */
  #handedEntries: readonly JournalEntry[] | undefined;
  /** Stored behind the part of the journal that is being read. */
  #arrived: JournalEntry[] = NONE;
  #readLength = 0;

  #attempt: Attempt | undefined;
  #attemptCount = 0;
  #failureCount = 0;
  #retryCountSinceLastStoredEntry = 0;
  #lastStartAtMs: number | undefined;
  #lastFailure: AttemptError | undefined;
  #lastDeployment: string | undefined;
  #lastServer: string | undefined;

  // Of `recovering`.
  #delayMs = 0;
  #settled = false;
  #backedOff = false;
  #nextRetryAtMs: number | undefined;
  #timer: TimerHandle | undefined;

  constructor({ invocation, firstEntries }: StartRun, context: RunContext) {
    this.id = invocation.facts.id;
    this.number = invocation.run;
    this.#facts = invocation.facts;
    this.#context = context;
    this.#pinned = invocation.pinned;
    this.#pauseRequested = invocation.pauseRequested;
    this.#length = invocation.journal.length;
    this.#lastStoredAtMs = invocation.modifiedAtMs;
    this.#handedEntries = firstEntries;
  }

  start(): void {
    this.#context.slots.acquire(this);
    if (this.#phase === "queued") this.#dropLongJournal();
  }

  // ── what the partition tells ───────────────────────────────────────────────────────────────────

  entryStored(effect: EntryStored): void {
    const { index, entry } = effect;
    const isNext = index === this.#length;
    if (index >= this.#length) this.#length = index + 1;
    this.#lastStoredAtMs = entry.appendedAtMs;
    switch (this.#phase) {
      case "attempting":
        this.#attempt?.entryStored(effect);
        return;
      case "reading":
        if (index === this.#readLength + this.#arrived.length) this.#arrived.push(entry);
        return;
      case "queued":
        this.#handedEntries = isNext && this.#handedEntries !== undefined ? [...this.#handedEntries, entry] : undefined;
        return this.#dropLongJournal();
      default:
        return; // The next attempt reads it.
    }
  }

  /** The partition has taken the invocation back. A stream after its final message drains by itself; any other is reset. */
  stop(): void {
    const lastWordSaid = this.#phase === "over" || this.#phase === "recovering";
    if (!lastWordSaid) return this.abandon();
    this.#phase = "over";
    this.#timer?.cancel();
  }

  /** Its last word is said, but the stream is still there. */
  get draining(): boolean {
    return this.#attempt !== undefined;
  }

  /** Breaks off everything, streams that drain included: the partition is led elsewhere, or the process ends. */
  abandon(): void {
    this.#phase = "over";
    this.#timer?.cancel();
    this.#attempt?.abort();
    this.#attempt = undefined;
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
        // Without a failure to show, the next attempt starts half-closed and suspends.
        if (this.#lastFailure !== undefined) this.#pauseWith(this.#lastFailure);
        return;
      default:
        return;
    }
  }

  retryNow(): void {
    this.#budget?.reset();
    if (this.#phase !== "recovering") return;
    this.#delayMs = 0;
    if (this.#attempt !== undefined) return; // Still draining.
    this.#timer?.cancel();
    this.#backedOff = true;
    this.#retryIfReady();
  }

  status(): InvokerStatus {
    const awaiting = this.#phase === "attempting" ? this.#attempt?.awaiting : undefined;
    return {
      id: this.id,
      inFlight: this.#phase === "attempting" || this.#phase === "reading",
      retryCount: this.#attemptCount,
      lastStartAtMs: this.#lastStartAtMs,
      nextRetryAtMs: this.#phase === "recovering" ? this.#nextRetryAtMs : undefined,
      lastAttemptDeploymentId: this.#lastDeployment,
      lastAttemptServer: this.#lastServer,
      lastFailure: this.#lastFailure,
      lastAwaitingJson: awaiting === undefined ? undefined : JSON.stringify(futureToJson(awaiting)),
    };
  }

  // ── an attempt begins ──────────────────────────────────────────────────────────────────────────

  slotGranted(): boolean {
    if (this.#phase !== "queued") return false;
    this.#holdsSlot = true;
    this.#begin();
    return true;
  }

  #begin(): void {
    const { registry, options, clock, metrics } = this.#context;
    this.#attemptCount++;
    this.#lastStartAtMs = clock.nowMs();
    metrics.attemptStarted();
    const routing = routeOf(this.#facts.target, this.#pinned, registry, options.protocolVersionMax);
    if (routing.kind === "failed") return this.#failBeforeOpening(routing.failure);
    this.#pin(routing);
    const entries = this.#handedEntries;
    this.#handedEntries = undefined;
    const wantsState =
      hasState(this.#facts.target) && routing.handler?.enableLazyState !== true && options.eagerStateBytesMax > 0;
    if (entries !== undefined && !wantsState) return this.#open(routing, entries, undefined);
    this.#read(routing, entries, wantsState);
  }

  #pin({ deployment, version }: Route): void {
    this.#lastDeployment = deployment.id;
    if (this.#pinned !== undefined) return;
    this.#pinned = { deploymentId: deployment.id, protocolVersion: version };
    this.submit({ kind: "pin", id: this.id, run: this.number, pinned: this.#pinned });
  }

  #read(route: Route, handed: readonly JournalEntry[] | undefined, wantsState: boolean): void {
    const { host } = this.#context;
    const { service, key = "" } = this.#facts.target;
    const attemptCount = this.#attemptCount;
    this.#phase = "reading";
    this.#readLength = this.#length;
    this.#arrived = [];
    const current = () => this.#phase === "reading" && this.#attemptCount === attemptCount;
    Promise.all([
      handed ?? host.readJournal(this.id, this.#length),
      wantsState ? host.readState(this.id, service, key) : undefined,
    ]).then(
      ([entries, state]) => {
        if (!current()) return;
        if (entries.length !== this.#readLength) {
          const why = `the journal has ${entries.length} entries instead of ${this.#readLength}`;
          return this.#failBeforeOpening(failure("RT0006", why, { countsForSdk: false }));
        }
        const all = this.#arrived.length === 0 ? entries : [...entries, ...this.#arrived];
        this.#arrived = NONE;
        this.#open(route, all, state);
      },
      (cause: unknown) => {
        if (current()) this.#failBeforeOpening(this.#storageFailure(cause));
      },
    );
  }

  #open(route: Route, entries: readonly JournalEntry[], state: ReadonlyMap<string, Uint8Array> | undefined): void {
    const { transports, options, clock, logger } = this.#context;
    const { deployment, handler } = route;
    const transport = deployment.address.kind === "lambda" ? transports.lambda : transports.http;
    if (transport === undefined)
      return this.#failBeforeOpening(failure("RT0010", "this server is not set up to call AWS Lambda"));
    const inactivityTimeoutMs = handler?.inactivityTimeoutMs ?? options.inactivityTimeoutMsDefault;
    const bidi = deployment.protocolType === "bidiStream" && deployment.address.kind === "http" && inactivityTimeoutMs > 0;
    const plan: AttemptPlan = {
      facts: this.#facts,
      run: this.number,
      version: route.version,
      mode: bidi ? "bidi" : "requestResponse",
      entries,
      state,
      retryCountSinceLastStoredEntry: this.#retryCountSinceLastStoredEntry,
      durationSinceLastStoredEntryMs: Math.max(0, clock.nowMs() - this.#lastStoredAtMs),
      eagerStateBytesMax: options.eagerStateBytesMax,
      messageBytesMax: options.messageBytesMax,
    };
    const times = { inactivityTimeoutMs, abortTimeoutMs: handler?.abortTimeoutMs ?? options.abortTimeoutMsDefault };
    const { registry, random, flushes, drains } = this.#context;
    this.#phase = "attempting";
    try {
      this.#attempt = new Attempt(plan, this.#request(route, plan), times, this, {
        registry,
        random,
        clock,
        logger,
        flushes,
        drains,
        transport,
      });
    } catch (cause) {
      logger.error({ invocationId: this.id, run: this.number, cause }, "attempt could not be opened");
      return this.#failBeforeOpening(failure("RT0006", "the attempt could not be opened", { countsForSdk: false }));
    }
    if (this.#pauseRequested) this.#attempt.closeRequest();
  }

  #request({ deployment }: Route, { version, mode }: AttemptPlan): StreamRequest {
    const { identity, options, random } = this.#context;
    const path = invokePath(this.#facts);
    const headers = requestHeaders({
      facts: this.#facts,
      version,
      path: identity === undefined ? path : pathSeenBy(deployment, path),
      trace: childSpan(this.#facts.trace, random),
      additional: options.additionalRequestHeaders,
      deployment,
      identity,
    });
    return { address: deployment.address, method: "POST", path, headers, requestResponse: mode === "requestResponse" };
  }

  // ── an attempt ends ────────────────────────────────────────────────────────────────────────────

  submit(command: AttemptCommand): void {
    if (command.kind === "appendCommand") this.#retryCountSinceLastStoredEntry = 0;
    this.#context.host.submit(command);
  }

  settled(callback: () => void): void {
    this.#context.host.settled(callback);
  }

  serverSeen(name: string): void {
    this.#lastServer = name;
  }

  attemptEnded(ending: AttemptEnding): void {
    if (ending.kind === "failed") return this.#fail(ending.failure);
    this.#phase = "over"; // The partition stops the run, or starts the next one.
    this.#countEnd(ending.kind, undefined);
  }

  attemptOver(): void {
    this.#attempt = undefined;
    this.#releaseSlot();
    if (this.#phase === "recovering") this.#backOff();
    else this.#context.drained(this);
  }

  #failBeforeOpening(cause: AttemptFailure): void {
    this.#attempt = undefined;
    this.#fail(cause);
    this.#releaseSlot();
    if (this.#phase === "recovering") this.#backOff();
  }

  #fail(cause: AttemptFailure): void {
    const { error } = cause;
    this.#failureCount++;
    this.#lastFailure = error;
    if (cause.countsForSdk) this.#retryCountSinceLastStoredEntry++;
    this.#countEnd("failed", error.errorCode);
    const verdict = this.#verdict(cause);
    this.#context.logger.warn(
      {
        invocationId: this.id,
        run: this.number,
        attempt: this.#attemptCount,
        code: error.errorCode,
        action: verdict.action,
        delayMs: verdict.delayMs,
      },
      "attempt failed",
    );
    this.#phase = verdict.action === "retry" ? "recovering" : "over";
    this.#reportFailure(error, verdict.action);
    if (verdict.action !== "retry") return;
    this.#delayMs = verdict.delayMs;
    this.#backedOff = false;
    this.#settled = false;
    this.#nextRetryAtMs = undefined;
    const failureCount = this.#failureCount;
    this.#context.host.settled(() => {
      if (this.#phase !== "recovering" || this.#failureCount !== failureCount) return;
      this.#settled = true;
      this.#retryIfReady();
    });
  }

  #verdict({ behavior, nextRetryDelayMs }: AttemptFailure): { action: "retry" | "pause" | "kill"; delayMs: number } {
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

  #reportFailure(error: AttemptError, then: "retry" | "pause" | "kill"): void {
    this.#context.host.submit({
      kind: "attemptFailed",
      id: this.id,
      run: this.number,
      error,
      then,
      failureCount: this.#failureCount,
    });
  }

  #pauseWith(error: AttemptError): void {
    this.#phase = "over";
    this.#timer?.cancel();
    this.#reportFailure(error, "pause");
  }

  /** The stream is drained: the delay starts now. */
  #backOff(): void {
    const { clock } = this.#context;
    this.#nextRetryAtMs = Math.ceil(clock.nowMs() + this.#delayMs);
    this.#timer = clock.setTimer(this.#delayMs, () => {
      this.#backedOff = true;
      this.#retryIfReady();
    });
  }

  /** No entry of the failed attempt may appear once the next one has begun to replay. */
  #retryIfReady(): void {
    if (this.#phase !== "recovering" || !this.#backedOff || !this.#settled) return;
    this.#phase = "queued";
    this.#context.slots.acquire(this);
  }

  #releaseSlot(): void {
    if (!this.#holdsSlot) return;
    this.#holdsSlot = false;
    this.#context.slots.release();
  }

  #countEnd(how: "ended" | "suspended" | "failed", errorCode: string | undefined): void {
    const { metrics, clock } = this.#context;
    metrics.attemptEnded(how, errorCode, clock.nowMs() - (this.#lastStartAtMs ?? clock.nowMs()));
  }

  #storageFailure(cause: unknown): AttemptFailure {
    const error = PerdureError.from(cause);
    this.#context.logger.error({ invocationId: this.id, run: this.number, error, cause }, "journal or state could not be read");
    return failure("RT0006", `journal or state could not be read: ${error.detail}`, { countsForSdk: false });
  }

  /** Many runs may wait for a slot; together they must not hold what the store keeps anyway. */
  #dropLongJournal(): void {
    let size = 0;
    for (const entry of this.#handedEntries ?? []) size += entry.body.length;
    if (size > HELD_JOURNAL_BYTES_MAX) this.#handedEntries = undefined;
  }
}

/** The base path of an HTTP address is part of what the endpoint sees. */
function pathSeenBy({ address }: DeploymentView, path: string): string {
  return address.kind === "http" ? new URL(address.uri).pathname.replace(/\/+$/, "") + path : path;
}
