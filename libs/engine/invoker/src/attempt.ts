/**
 * An attempt on the wire: the state machine, its stream, and three deadlines.
 *
 *     streaming ──(no message for long)──▶ half-closed ──(no response for long: RT0001)──▶ draining ──(5 s)──▶ reset
 *         └──────────── final message ─────────┴─────────────────────────────────────────────▲
 *
 * An attempt has one deadline at a time. A message does not move the deadline: when the deadline fires, it checks how long the stream has
 * been quiet.
 */
import type { TimerHandle } from "@perdure/base";
import type { EndpointStream, StreamListener, StreamRequest, TransportFailure } from "@perdure/endpoint-transport";
import { type Future, invocationContentType, MessageType } from "@perdure/service-protocol";
import type { AttemptCommand, EntryStored } from "@perdure/state-machine";
import { type AttemptFailure, abortTimeoutFailure, transportFailure } from "./attempt-failure.js";
import { AttemptMachine } from "./attempt-machine.js";
import type { AttemptContext, AttemptOwner, AttemptTimes } from "./attempt-owner.js";
import type { AttemptEnding, AttemptOutput, AttemptPlan } from "./attempt-plan.js";
import type { Blockage } from "./blockage.js";
import type { DeadlineWaiter } from "./deadlines.js";
import type { ServiceShare, ShareMember } from "./fair-shares.js";
import type { Flushable } from "./flush-group.js";
import type { LargeTurn } from "./large-messages.js";
import { ATTEMPT_UNITS, BLOCKED_AFTER_MS, DRAIN_MS, LARGE_MESSAGE_BYTES, STAGED_OUTPUT_BYTES } from "./limits.js";
import { MessagePace } from "./pace.js";
import { type ResponseHeaders, responseFailure } from "./response-check.js";

export class Attempt implements AttemptOutput, StreamListener, ShareMember, DeadlineWaiter, Flushable {
  readonly #plan: AttemptPlan;
  readonly #times: AttemptTimes;
  readonly #owner: AttemptOwner;
  readonly #context: AttemptContext;
  readonly #machine: AttemptMachine;
  readonly #stream: EndpointStream;
  readonly #share: ServiceShare;
  readonly #pace: MessagePace;
  /** Units that the attempt spent in the last epoch in which it spent any. */
  #spent = 0;
  #spentEpoch = 0;
  #waitsFor: "inactivity" | "abort" | "drain" = "inactivity";
  /** Silence after the end of the request until the attempt is aborted. */
  #abortTimeoutMs: number;
  /** Ticket of a whole delay; the rest of a delay after some activity has a timer of its own. */
  #deadline: TimerHandle | undefined;
  #lastActivityMs: number;
  /**
   * The attempt waits for its turn or its pace to handle what has arrived, and does not read until then: the silence is not the
   * endpoint's.
   */
  #readingHeld = false;
  /** The attempt exceeded its rates; after the pause it waits for its turn. */
  #slowedDown: TimerHandle | undefined;
  /** Turn for the large message that is arriving or not durable yet. */
  #largeTurn: LargeTurn | undefined;
  /** Whether no connection has a free stream for the attempt. */
  #isStreamWaiting = false;
  /** A large command is being staged; it is submitted afterwards. */
  #isSubmitting = false;
  /** The staged Output. Kept until the attempt is over: the outcome that the end stores consists of the same bytes. */
  #stagedOutput: Disposable | undefined;
  #hasResponded = false;
  /** The response ended before all received frames were handled. */
  #hasEnded = false;
  #over = false;

  /** Opens the stream and sends the journal. Throws when the journal cannot be decoded. */
  constructor(plan: AttemptPlan, request: StreamRequest, times: AttemptTimes, owner: AttemptOwner, context: AttemptContext) {
    this.#plan = plan;
    this.#times = times;
    this.#abortTimeoutMs = times.abortTimeoutMs;
    this.#owner = owner;
    this.#context = context;
    this.#lastActivityMs = context.clock.monotonicMs();
    this.#share = context.shares.serviceShare(plan.facts.target.service);
    this.#pace = new MessagePace(context.pace, this.#lastActivityMs);
    this.#machine = new AttemptMachine(plan, this, context);
    this.#stream = context.transport.open(request, this);
    this.#machine.begin();
    if (plan.mode === "bidi") this.#waitFor("inactivity", times.inactivityTimeoutMs);
  }

  get isBidirectional(): boolean {
    return this.#plan.mode === "bidi";
  }

  get awaiting(): Future | undefined {
    return this.#machine.awaiting;
  }

  entryStored(effect: EntryStored): void {
    this.#machine.entryStored(effect);
  }

  /** Requests the handler to suspend when it blocks. */
  closeRequest(): void {
    this.#machine.closeRequest();
  }

  /** Returns the monotonic time since which the handler only waits, as far as the messages show; undefined while it works. */
  blockedSinceMs(): number | undefined {
    if (this.#over || this.#readingHeld || this.#isStreamWaiting || this.#plan.mode !== "bidi") return undefined;
    const silentMs = this.#context.clock.monotonicMs() - this.#lastActivityMs;
    if (silentMs < BLOCKED_AFTER_MS.declared) return undefined;
    const blockage = this.#machine.blockage;
    return blockage !== undefined && silentMs >= BLOCKED_AFTER_MS[blockage] ? this.#lastActivityMs : undefined;
  }

  /** See `AttemptMachine.blockage`; undefined while a message waits to be handled or the stream waits for a connection. */
  get blockage(): Blockage | undefined {
    return this.#over || this.#readingHeld || this.#isStreamWaiting ? undefined : this.#machine.blockage;
  }

  /** Requests a suspension before the inactivity timeout. A handler that works nevertheless may be silent as long as before. */
  suspendBlocked(): void {
    this.#abortTimeoutMs = this.#times.inactivityTimeoutMs + this.#times.abortTimeoutMs;
    this.#machine.closeRequest();
  }

  /** Ends the attempt as failed, unless its outcome was reported. */
  interrupt(cause: AttemptFailure): void {
    if (!this.#over) this.#machine.fail(cause);
  }

  /** Resets the stream; the owner receives no more calls. */
  abort(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopWaiting();
    this.#stopHoldingUp();
    this.#releaseOutput();
    this.#stream.abort();
  }

  // ── calls of the machine ───────────────────────────────────────────────────────────────────────

  write(bytes: Uint8Array): boolean {
    this.#lastActivityMs = this.#context.clock.monotonicMs();
    return this.#stream.write(bytes);
  }

  halfClose(): void {
    this.#stream.end();
    if (this.#machine.over || this.#waitsFor === "abort") return;
    this.#lastActivityMs = this.#context.clock.monotonicMs();
    this.#waitFor("abort", this.#abortTimeoutMs);
  }

  /** A large body is staged first. When the attempt ends before that, the command is lost like a command that never arrived. */
  submit(command: AttemptCommand): void {
    const { stage } = this.#owner;
    const body = stage === undefined ? undefined : bodyOf(command);
    const bytesMin = isOutput(command) ? STAGED_OUTPUT_BYTES : LARGE_MESSAGE_BYTES;
    if (stage === undefined || body === undefined || body.length < bytesMin) return this.#owner.submit(command);
    this.#isSubmitting = true;
    stage(body).then(
      (staged) => this.#staged(command, staged),
      () => this.#staged(command, undefined), // The commit writes the body then, and reports the error.
    );
  }

  get isSubmitting(): boolean {
    return this.#isSubmitting;
  }

  #staged(command: AttemptCommand, staged: Disposable | undefined): void {
    this.#isSubmitting = false;
    if (this.#over || this.#machine.over) return staged?.[Symbol.dispose]();
    this.#owner.submit(command);
    if (isOutput(command)) {
      this.#releaseOutput();
      this.#stagedOutput = staged;
    } else this.#release(staged);
    this.#goOn();
  }

  #releaseOutput(): void {
    this.#release(this.#stagedOutput);
    this.#stagedOutput = undefined;
  }

  /** Once everything that was submitted is durable. */
  #release(staged: Disposable | undefined): void {
    if (staged !== undefined) this.#owner.whenDurable(() => staged[Symbol.dispose]());
  }

  over(ending: AttemptEnding): void {
    this.#stopHoldingUp();
    this.#releaseOutput();
    const reset = ending.kind === "failed" && ending.failure.resetStream;
    if (!reset) this.#waitFor("drain", DRAIN_MS);
    // A transport that fails at once does so before `#stream` is set.
    const stream = this.#stream as EndpointStream | undefined;
    stream?.concluded?.(ending.kind, ending.kind === "failed" ? ending.failure.error.errorCode : undefined);
    this.#owner.attemptEnded(ending);
    if (reset) this.#finish(true);
    else if (this.#readingHeld) this.#stream.resumeReading(); // Nothing more is kept, so the rest may arrive at any rate.
  }

  requestFlush(): void {
    this.#context.flushes.add(this);
  }

  flush(): void {
    if (!this.#over) this.#machine.flush();
  }

  // ── calls of the stream ────────────────────────────────────────────────────────────────────────

  response(status: number, headers: ResponseHeaders): void {
    if (this.#over) return;
    this.#lastActivityMs = this.#context.clock.monotonicMs();
    const wrong = responseFailure(status, headers, invocationContentType(this.#plan.version), this.#context.clock.nowMs());
    if (wrong !== undefined) return this.#machine.fail(wrong);
    this.#owner.headersReceived();
    const server = headers["x-restate-server"];
    if (server !== undefined) this.#owner.serverIdentified(server);
  }

  data(chunk: Uint8Array): void {
    if (this.#over) return;
    if (!this.#hasResponded) {
      this.#hasResponded = true;
      this.#owner.responded();
    }
    this.#lastActivityMs = this.#context.clock.monotonicMs();
    this.#machine.received(chunk);
    if (this.#readingHeld) return;
    const { shares } = this.#context;
    if (this.#spentEpoch !== shares.epoch) {
      this.#spentEpoch = shares.epoch;
      this.#spent = 0;
    }
    const used = this.#machine.work(Math.min(ATTEMPT_UNITS - this.#spent, shares.allowance(this.#share)));
    if (used > 0) {
      this.#spent += used;
      shares.spend(this.#share, used);
    }
    const mustWait = this.#mustWait();
    if (!mustWait && !this.#machine.isBacklogged) return;
    this.#readingHeld = true;
    this.#stream.pauseReading();
    if (!mustWait) shares.wait(this.#share, this);
  }

  end(): void {
    if (this.#over) return;
    if (this.#readingHeld && !this.#machine.over) {
      this.#hasEnded = true;
      return;
    }
    this.#machine.responseEnded();
    this.#finish(false);
  }

  failed(cause: TransportFailure): void {
    if (this.#over) return;
    this.#machine.fail(transportFailure(cause)); // After the final message this has no effect.
    this.#finish(false);
  }

  drain(): void {
    if (!this.#over) this.#machine.drained();
  }

  waiting(isWaiting: boolean): void {
    if (this.#over) return;
    this.#isStreamWaiting = isWaiting;
    this.#lastActivityMs = this.#context.clock.monotonicMs();
    this.#owner.streamWaits(isWaiting);
  }

  // ── turns ──────────────────────────────────────────────────────────────────────────────────────

  /** Handles frames that have arrived; when no frame is left, the stream is read again. */
  serve(units: number): number {
    if (!this.isWaiting) return 0;
    const used = this.#machine.work(units);
    if (this.#mustWait() || this.#machine.isBacklogged) return used;
    this.#readingHeld = false;
    this.#lastActivityMs = this.#context.clock.monotonicMs();
    if (this.#hasEnded) this.end();
    else if (!this.#machine.over) this.#stream.resumeReading();
    return used;
  }

  get isWaiting(): boolean {
    return this.#readingHeld && !this.#isHeldUp && !this.#over && !this.#machine.over;
  }

  /** The attempt must wait for something other than its turn. */
  get #isHeldUp(): boolean {
    return this.#isSubmitting || this.#slowedDown !== undefined || this.#largeTurn?.state === "waiting";
  }

  /** Whether the attempt must stop handling frames until it continues by itself; called after each piece of work. */
  #mustWait(): boolean {
    if (this.#machine.over) return false;
    this.#takeLargeTurn();
    this.#slowDown();
    return this.#isHeldUp;
  }

  readonly #goOn = (): void => {
    if (this.isWaiting) this.#context.shares.wait(this.#share, this);
  };

  /** A large message arrives in a turn of its own, which lasts until the commands that came with it are durable. */
  #takeLargeTurn(): void {
    const { pendingMessageBytes: bytes, isBacklogged } = this.#machine;
    const isLarge = bytes >= LARGE_MESSAGE_BYTES;
    if (this.#largeTurn === undefined) {
      if (!isLarge) return;
      this.#largeTurn = this.#context.largeMessages.acquire(this.#plan.facts.target.service, bytes, this.#goOn);
      this.#stream.carriesLargeMessage?.(true);
    } else if (!isLarge && !isBacklogged && !this.#isSubmitting) this.#endLargeTurn();
  }

  #endLargeTurn(): void {
    const turn = this.#largeTurn;
    if (turn === undefined) return;
    this.#largeTurn = undefined;
    (this.#stream as EndpointStream | undefined)?.carriesLargeMessage?.(false);
    this.#owner.whenDurable(() => turn.release());
  }

  /** An attempt that exceeds its rates handles nothing for a while, and waits for its turn after that. */
  #slowDown(): void {
    const { clock, metrics } = this.#context;
    const delayMs = this.#pace.delayMs(this.#machine.handled, clock.monotonicMs());
    if (delayMs === 0) return;
    metrics.attemptSlowedDown();
    this.#slowedDown = clock.setTimer(delayMs, () => {
      this.#slowedDown = undefined;
      this.#goOn();
    });
  }

  // ── time ───────────────────────────────────────────────────────────────────────────────────────

  #waitFor(what: "inactivity" | "abort" | "drain", delayMs: number): void {
    this.#stopWaiting();
    this.#waitsFor = what;
    this.#deadline = this.#context.deadlines.add(this, delayMs);
  }

  #stopWaiting(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }

  #stopHoldingUp(): void {
    this.#slowedDown?.cancel();
    this.#slowedDown = undefined;
    this.#endLargeTurn();
  }

  deadlineReached(): void {
    this.#deadline = undefined;
    switch (this.#waitsFor) {
      case "inactivity":
        if (this.#waitOn(this.#times.inactivityTimeoutMs)) return;
        this.#lastActivityMs = this.#context.clock.monotonicMs();
        this.#waitFor("abort", this.#times.abortTimeoutMs);
        return this.#machine.closeRequest();
      case "abort":
        if (this.#waitOn(this.#abortTimeoutMs)) return;
        return this.#machine.fail(abortTimeoutFailure(this.#abortTimeoutMs));
      case "drain":
        return this.#finish(true);
    }
  }

  /** Waits for the rest of the delay since the last activity; returns false when no time is left. */
  #waitOn(delayMs: number): boolean {
    const quietMs = this.#readingHeld || this.#isStreamWaiting ? 0 : this.#context.clock.monotonicMs() - this.#lastActivityMs;
    if (quietMs >= delayMs) return false;
    this.#deadline = this.#context.clock.setTimer(delayMs - quietMs, () => this.deadlineReached());
    return true;
  }

  #finish(reset: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#stopWaiting();
    this.#stopHoldingUp();
    if (reset) this.#stream.abort();
    else this.#stream.end();
    this.#owner.attemptOver();
  }
}

function isOutput(command: AttemptCommand): boolean {
  return command.kind === "appendCommand" && command.type === MessageType.Output;
}

/** The part of a command that may be large. */
function bodyOf(command: AttemptCommand): Uint8Array | undefined {
  return command.kind === "appendCommand" || command.kind === "proposeRun" ? command.body : undefined;
}
