/**
 * One attempt at running a handler, without sockets and timers. Input: bytes from the SDK and stored entries. Output: bytes to the SDK,
 * commands for the partition and one final outcome.
 *
 *     begin ─▶ Start + journal ─▶ live: notifications and acks out, commands in ─▶ Suspension · End · failure
 *
 * Every error inside, be it a malformed message or a bug of the invoker, is the failure of this attempt and of nothing else.
 */
import { type InvocationId, PerdureError, ProtoError, unreachable } from "@perdure/base";
import {
  type AwaitingOn,
  commandAckFrame,
  decodeCommand,
  decodeControl,
  encodeCompletion,
  evaluateFuture,
  type Frame,
  FrameDecoder,
  type Future,
  frameBodyBytesLimit,
  isCommand,
  isFault,
  isNotification,
  MessageType,
  messageBytesWarn,
  messageTypeName,
  notificationIdOf,
  proposeRunCompletionAckFrame,
  protocolViolation,
  type RunProposal,
  requestedAckFlag,
  resultCompletionIdOf,
  type SdkControlMessage,
} from "@perdure/service-protocol";
import type { EntryStored, JournalEntry } from "@perdure/state-machine";
import {
  type AttemptFailure,
  endOfStreamFailure,
  failure,
  journalFailure,
  protocolFailure,
  refusalFailure,
  reportedFailure,
} from "./attempt-failure.js";
import { type AttemptDeps, type AttemptEnding, type AttemptOutput, type AttemptPlan, startInPieces } from "./attempt-plan.js";
import { type Blockage, beginsWait, endsWait, ownedBytes } from "./blockage.js";
import { commandAction } from "./command-action.js";
import { UNIT_BYTES } from "./limits.js";
import { frameInPieces, Outgoing, type OutgoingFrame } from "./outgoing.js";
import type { Handled } from "./pace.js";
import { ReceivedNotifications } from "./received-notifications.js";

const SUSPENDED: AttemptEnding = { kind: "suspended" };
const ENDED: AttemptEnding = { kind: "ended" };

export class AttemptMachine {
  readonly #plan: AttemptPlan;
  readonly #output: AttemptOutput;
  readonly #deps: AttemptDeps;
  readonly #id: InvocationId;
  readonly #decoder: FrameDecoder;
  readonly #outgoing: Outgoing;
  readonly #notifications = new ReceivedNotifications();
  /** Number of commands in the journal, Input included; also the index of the next command. */
  #commands = 0;
  /** Total bytes of the bodies of all entries. */
  #journalBytes = 0;
  #handledMessages = 0;
  #handledBytes = 0;
  #hasOutput = false;
  /** Body of the last Output, if this attempt sent it. */
  #result: Uint8Array | undefined;
  /** Completion ids of runs without a result. Created when first needed. */
  #openRuns: Set<number> | undefined;
  #awaiting: Future | undefined;
  /** The handler has sent nothing since it reported what it waits for. */
  #isAwaiting = false;
  /** Proposals of run results that are not stored yet. */
  #openProposals = 0;
  /** Sleeps, calls and other commands that a handler may wait for long, except those whose completion is stored. */
  #openWaits = 0;
  #over = false;
  #isBacklogged = false;

  constructor(plan: AttemptPlan, output: AttemptOutput, deps: AttemptDeps) {
    this.#plan = plan;
    this.#output = output;
    this.#deps = deps;
    this.#id = plan.facts.id;
    this.#decoder = new FrameDecoder(frameBodyBytesLimit(plan.messageBytesMax));
    const start = startInPieces(plan);
    const replay: OutgoingFrame[] = start.length === 1 ? [{ type: MessageType.Start, body: start[0]! }] : [];
    for (const entry of plan.entries) {
      this.#remember(entry);
      replay.push(entry);
    }
    this.#outgoing = new Outgoing(replay, output, start.length === 1 ? undefined : frameInPieces(MessageType.Start, start));
  }

  /** The outcome of the attempt was reported. */
  get over(): boolean {
    return this.#over;
  }

  /** The future that the handler last reported as awaited; protocol 7 only. */
  get awaiting(): Future | undefined {
    return this.#awaiting;
  }

  /** The request accepts notifications. */
  get requestOpen(): boolean {
    return this.#outgoing.open;
  }

  /**
   * What shows that the handler only waits; undefined while the handler works or may work, and when it cannot be requested to suspend.
   */
  get blockage(): Blockage | undefined {
    if (this.#over || !this.#outgoing.isIdle) return undefined;
    // A run without a result executes, or its result is being sent.
    if (this.#openProposals > 0 || (this.#openRuns?.size ?? 0) > 0) return undefined;
    // Once the awaited future is complete, the handler works or waits for another future, which not every SDK reports.
    if (this.#isAwaiting && this.#awaiting !== undefined && !this.#hasArrived(this.#awaiting)) return "declared";
    return this.#openWaits > 0 ? "evident" : "possible";
  }

  /** Sends Start and the journal, and in request/response mode the end of the request. */
  begin(): void {
    this.#outgoing.flush();
    if (this.#plan.mode === "requestResponse") this.#outgoing.close();
  }

  /** An entry became durable: the SDK receives it in the order of these calls, or finds it in its next replay. */
  entryStored(effect: EntryStored): void {
    if (this.#over) return;
    try {
      if (isNotification(effect.entry.type)) {
        this.#notified(effect.entry);
        this.#journalBytes += effect.entry.body.length;
      }
      this.#deliver(effect);
    } catch (cause) {
      this.fail(this.#internalFailure(cause));
    }
  }

  /** Stores bytes of the response, which `work` decodes. The caller must not change them before that. */
  received(chunk: Uint8Array): void {
    if (!this.#over) this.#decoder.push(chunk);
  }

  /** Handles frames for about `units`, the last one whole; returns the units used. `isBacklogged` returns whether frames may be left. */
  work(units: number): number {
    this.#isBacklogged = false;
    let used = 0;
    try {
      while (!this.#over) {
        if (used >= units) {
          this.#isBacklogged = this.#decoder.hasBytes;
          return used;
        }
        const frame = this.#decoder.next();
        if (frame === undefined) break;
        used += 1 + Math.floor(frame.body.length / UNIT_BYTES);
        this.#handledMessages++;
        // This result is the last one to be stored: delaying the end of the attempt would save nothing.
        if (frame.type !== MessageType.Output || this.#hasOutput) this.#handledBytes += frame.body.length;
        this.#handle(frame);
        if (!this.#output.isSubmitting) continue;
        this.#isBacklogged = this.#decoder.hasBytes;
        return used;
      }
      const { fault } = this.#decoder;
      if (fault !== undefined) this.fail(protocolFailure(fault));
    } catch (cause) {
      this.fail(this.#internalFailure(cause));
    }
    return used;
  }

  /** `work` stopped because its units were used or a command is being staged, not because no frame was left. */
  get isBacklogged(): boolean {
    return this.#isBacklogged;
  }

  /** Length of a message that has arrived only in part; 0 when there is none. */
  get pendingMessageBytes(): number {
    return this.#over ? 0 : this.#decoder.pendingBodyBytes;
  }

  get handled(): Handled {
    return { messages: this.#handledMessages, bytes: this.#handledBytes };
  }

  /** The response ended cleanly; without a final message that is a failure of the attempt. */
  responseEnded(): void {
    if (!this.#over) this.fail(endOfStreamFailure(this.#decoder.end()));
  }

  /** Half-closes the request: "suspend when blocked". */
  closeRequest(): void {
    this.#outgoing.close();
  }

  /** The stream accepts bytes again. */
  drained(): void {
    try {
      this.#outgoing.drained();
    } catch (cause) {
      this.fail(this.#internalFailure(cause));
    }
  }

  flush(): void {
    try {
      this.#outgoing.flush();
    } catch (cause) {
      this.fail(this.#internalFailure(cause));
    }
  }

  /** Ends the attempt, unless it has ended already. */
  fail(cause: AttemptFailure): void {
    if (!this.#over) this.#finish({ kind: "failed", failure: cause });
  }

  #notified(entry: JournalEntry): void {
    this.#notifications.add(entry);
    if (endsWait(entry.type)) this.#openWaits--;
    else if (entry.type === MessageType.RunCompletion && this.#openProposals > 0) this.#openProposals--;
  }

  #hasArrived(awaited: Future): boolean {
    return evaluateFuture(awaited, (id) => this.#notifications.lookup(id)).kind === "resolved";
  }

  #deliver({ entry, delivery }: EntryStored): void {
    switch (delivery.kind) {
      case "push":
        this.#outgoing.push(entry.type, entry.body);
        if (delivery.thenAck !== undefined) this.#outgoing.pushFrame(commandAckFrame(delivery.thenAck));
        return;
      case "ackCommand":
        return this.#outgoing.pushFrame(commandAckFrame(delivery.commandIndex));
      case "ackRun":
        return this.#outgoing.pushFrame(proposeRunCompletionAckFrame(delivery.completionId));
      case "nothing":
        return;
      default:
        return unreachable(delivery);
    }
  }

  /** Registers an entry of the replayed journal. */
  #remember(entry: JournalEntry): void {
    const { type } = entry;
    this.#journalBytes += entry.body.length;
    if (isNotification(type)) {
      this.#notifications.add(entry);
      if (endsWait(type)) this.#openWaits--;
      else if (type === MessageType.RunCompletion) this.#closeRun(entry);
      return;
    }
    this.#commands++;
    if (beginsWait(type)) this.#openWaits++;
    if (type === MessageType.Output) this.#hasOutput = true;
    else if (type === MessageType.Run) this.#openRun(resultCompletionIdOf(type, entry.body) ?? 0);
  }

  #openRun(completionId: number): void {
    this.#openRuns ??= new Set();
    this.#openRuns.add(completionId);
  }

  #closeRun(completion: JournalEntry): void {
    const id = notificationIdOf(completion.type, completion.body);
    if (id.kind === "completion") this.#openRuns?.delete(id.id);
  }

  #handle(frame: Frame): void {
    if (frame.body.length >= messageBytesWarn) this.#warnOfSize(frame);
    if (isCommand(frame.type)) return this.#command(frame);
    const message = decodeControl(frame.type, frame.body, this.#plan.version);
    if (isFault(message)) return this.fail(protocolFailure(message));
    this.#control(message, frame);
  }

  #warnOfSize({ type, body }: Frame): void {
    const fields = {
      invocationId: this.#id,
      message: messageTypeName(type),
      messageBytes: body.length,
      limitBytes: this.#plan.messageBytesMax,
    };
    this.#deps.logger.warn(fields, "large message from the handler: slow to replay, and near the limit");
  }

  #command({ type, flags, body: view }: Frame): void {
    const body = ownedBytes(view); // The entry is stored as it is, and the byte arrays of the action are views of it.
    const command = decodeCommand(type, body);
    if (isFault(command)) return this.fail(protocolFailure(command));
    const isResult = command.kind === "output" && !this.#hasOutput;
    const full = isResult ? undefined : this.#journalFailure(body.length);
    if (full !== undefined) return this.fail(full);
    const action = commandAction(this.#plan.facts, command, this.#deps);
    if (action.kind === "refused") return this.fail(refusalFailure(action, command, type, this.#commands));
    if (command.kind === "output") {
      this.#hasOutput = true;
      this.#result = body;
    } else if (command.kind === "run") this.#openRun(command.resultCompletionId);
    else if (beginsWait(type)) this.#openWaits++;
    this.#isAwaiting = false;
    this.#commands++;
    this.#journalBytes += body.length;
    const ackRequested = (flags & requestedAckFlag) !== 0;
    this.#output.submit({ kind: "appendCommand", id: this.#id, run: this.#plan.run, type, body, ackRequested, action });
  }

  #control(message: SdkControlMessage, { flags }: Frame): void {
    switch (message.kind) {
      case "proposeRunCompletion":
        return this.#propose(message, (flags & requestedAckFlag) !== 0);
      case "awaitingOn":
        return this.#awaits(message);
      case "suspension":
        return this.#suspend(message.awaitingOn);
      case "error":
        return this.fail(reportedFailure(message));
      case "end":
        return this.#end();
      default:
        return unreachable(message);
    }
  }

  #propose({ resultCompletionId: completionId, result }: RunProposal, ackRequested: boolean): void {
    if (this.#openRuns?.delete(completionId) !== true) {
      const why = `ProposeRunCompletion for completion id ${completionId}, which belongs to no run without a result`;
      return this.fail(protocolFailure(protocolViolation(why)));
    }
    this.#isAwaiting = false;
    this.#openProposals++;
    const body = encodeCompletion(completionId, result);
    const ackOnly = ackRequested && this.#plan.version >= 7;
    this.#output.submit({ kind: "proposeRun", id: this.#id, run: this.#plan.run, completionId, body, ackOnly });
  }

  #awaits(message: AwaitingOn): void {
    if (this.#plan.version < 7) return this.fail(protocolFailure(protocolViolation("AwaitingOn is unknown before protocol 7")));
    this.#awaiting = message.awaitingOn;
    this.#isAwaiting = !message.executingSideEffects;
  }

  #suspend(awaitingOn: Future): void {
    const evaluation = evaluateFuture(awaitingOn, (id) => this.#notifications.lookup(id));
    const satisfied = evaluation.kind === "resolved";
    this.#output.submit({
      kind: "suspend",
      id: this.#id,
      run: this.#plan.run,
      awaiting: satisfied ? awaitingOn : evaluation.remaining,
      receivedNotificationCount: this.#notifications.count,
      satisfied,
    });
    this.#finish(SUSPENDED);
  }

  #end(): void {
    if (!this.#hasOutput) return this.fail(protocolFailure(protocolViolation("End without an Output before it")));
    this.#output.submit({ kind: "end", id: this.#id, run: this.#plan.run, output: this.#result });
    this.#finish(ENDED);
  }

  #finish(ending: AttemptEnding): void {
    this.#over = true;
    this.#result = undefined;
    if (ending.kind === "failed" && ending.failure.resetStream) this.#outgoing.abandon();
    else this.#outgoing.closeNow();
    this.#output.over(ending);
  }

  #journalFailure(moreBytes: number): AttemptFailure | undefined {
    const journal = { entries: this.#commands + this.#notifications.count, bytes: this.#journalBytes };
    return journalFailure(journal, moreBytes, this.#plan);
  }

  #internalFailure(cause: unknown): AttemptFailure {
    if (cause instanceof ProtoError) return protocolFailure(protocolViolation(`malformed message: ${cause.message}`));
    const error = PerdureError.from(cause);
    this.#deps.logger.error(
      { invocationId: this.#id, run: this.#plan.run, error, cause },
      "attempt failed because of an error of the server",
    );
    return failure("RT0006", error.detail);
  }
}
