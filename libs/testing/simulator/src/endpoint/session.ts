/**
 * One attempt at the endpoint: reads the bytes of the request, runs the program against them and writes the bytes that an SDK would
 * write, or misbehaves when a misfortune was drawn for it.
 */
import { type InvocationId, parseInvocationId } from "@perdure/base";
import {
  decodeStart,
  encodeCompletion,
  encodeControl,
  encodeFrame,
  endFrame,
  type Frame,
  FrameDecoder,
  type Future,
  futureFromLists,
  isFault,
  isNotification,
  MessageType,
  messageTypeName,
  type NotificationResult,
  notificationIdOf,
  type ProtocolVersion,
  requestedAckFlag,
  type StartMessage,
  type ValueOrFailure,
  waitingCompletions,
  waitingNamedSignals,
  waitingSignals,
} from "@perdure/service-protocol";
import type { AttemptRecord } from "../ledger/attempts.js";
import type { SimulatedWorld } from "../world.js";
import { Conversation } from "./conversation.js";
import { interpret } from "./interpret.js";
import { LocalState } from "./local-state.js";
import type { Misfortune } from "./misfortune.js";
import type { ProgramRequest } from "./program-progress.js";

/** The response as the session writes it. */
export interface ResponseWriter {
  respond(bytes: Uint8Array): void;
  finish(): void;
  breakOff(why: string): void;
}

/** The external systems that user code calls. */
export interface Outside {
  executed(): number;
  leave(awakeable: string): void;
}

export class EndpointSession {
  readonly #world: SimulatedWorld;
  readonly #attempt: AttemptRecord;
  readonly #version: ProtocolVersion;
  readonly #response: ResponseWriter;
  readonly #outside: Outside;
  readonly #misfortune: Misfortune | undefined;
  readonly #decoder = new FrameDecoder();
  readonly #conversation: Conversation;
  #start: StartMessage | undefined;
  /** Entries of the journal read so far. */
  #entries = 0;
  #script: Generator<ProgramRequest, ValueOrFailure, void> | undefined;
  #waiting: Extract<ProgramRequest, { kind: "wait" }> | undefined;
  #working = false;
  /** Time since which the handler can do nothing until a frame arrives. */
  #blockedSinceMs: number | undefined;
  #requestEnded = false;
  #over = false;
  #commandsSent = 0;
  /** Results that this attempt proposed and that are not acknowledged. */
  readonly #proposed = new Map<number, NotificationResult>();

  constructor(
    world: SimulatedWorld,
    attempt: AttemptRecord,
    version: ProtocolVersion,
    response: ResponseWriter,
    outside: Outside,
    misfortune: Misfortune | undefined,
  ) {
    this.#world = world;
    this.#attempt = attempt;
    this.#version = version;
    this.#response = response;
    this.#outside = outside;
    this.#misfortune = misfortune;
    this.#conversation = new Conversation({
      send: (type, body, flags) => this.#sendCommand(type, body, flags),
      mismatch: (detail) => world.ledger.attempts.mismatch(attempt, detail),
      copied: attempt.generation?.facts.source.kind === "restart",
    });
  }

  /** Time since which the handler keeps its stream and waits; undefined while it works, or after a suspension was requested. */
  get blockedSinceMs(): number | undefined {
    return this.#over || this.#requestEnded || this.#working || this.#proposed.size > 0 ? undefined : this.#blockedSinceMs;
  }

  // ── frames from the server ─────────────────────────────────────────────────────────────────────

  received(bytes: Uint8Array): void {
    if (this.#over) return;
    this.#decoder.push(bytes);
    for (let frame = this.#decoder.next(); frame !== undefined; frame = this.#decoder.next()) {
      this.#frame(frame);
      if (this.#over) return;
    }
    if (this.#decoder.fault !== undefined) this.#wrong(`unreadable request: ${this.#decoder.fault.detail}`);
    this.#advance();
  }

  requestEnded(): void {
    this.#requestEnded = true;
    this.#advance();
  }

  /** The server or the network closed the stream. */
  gone(): void {
    this.#over = true;
  }

  #frame({ type, body: view }: Frame): void {
    const body = new Uint8Array(view);
    if (this.#start === undefined) return this.#begin(type, body);
    const { attempts } = this.#world.ledger;
    if (this.#entries < this.#start.knownEntries) {
      attempts.replayed(this.#attempt, this.#entries++, type, body);
      this.#conversation.receive(type, body);
      return;
    }
    switch (type) {
      case MessageType.CommandAck:
        return attempts.acknowledged(this.#attempt, body);
      case MessageType.ProposeRunCompletionAck:
        return this.#acknowledgedRun(body);
      default:
        if (!isNotification(type)) return this.#wrong(`${messageTypeName(type)} after the replay`);
        return this.#pushed(type, body);
    }
  }

  #begin(type: number, body: Uint8Array): void {
    const start = type === MessageType.Start ? decodeStart(body) : undefined;
    if (start === undefined || isFault(start)) return this.#wrong("an attempt begins with a readable Start");
    this.#start = start;
    this.#world.ledger.attempts.started(this.#attempt, start);
  }

  #pushed(type: number, body: Uint8Array): void {
    this.#world.ledger.attempts.pushed(this.#attempt, type, body);
    if (type === MessageType.RunCompletion) {
      const id = notificationIdOf(type, body);
      if (id.kind === "completion" && !this.#proposed.delete(id.id))
        this.#wrong(`a result of run ${id.id}, which this attempt did not offer`);
    }
    this.#conversation.receive(type, body);
  }

  #acknowledgedRun(body: Uint8Array): void {
    const completionId = body[1] ?? 0; // A varint below 128 behind its tag: programs are short.
    const result = this.#proposed.get(completionId);
    if (result === undefined) return this.#wrong(`an ack of run ${completionId}, which this attempt did not offer`);
    this.#proposed.delete(completionId);
    this.#world.ledger.attempts.pushed(this.#attempt, MessageType.RunCompletion, encodeCompletion(completionId, result));
    this.#conversation.receiveOwnResult(completionId, result);
  }

  // ── the handler ────────────────────────────────────────────────────────────────────────────────

  #advance(): void {
    if (this.#over || this.#working || !this.#replayComplete()) return;
    this.#script ??= this.#beginScript();
    while (!this.#over) {
      try {
        if (this.#waiting !== undefined && !this.#conversation.resolved(this.#waiting.future, this.#waiting.deaf))
          return this.#block();
        this.#waiting = undefined;
        this.#blockedSinceMs = undefined;
        const next = this.#script.next();
        if (next.done === true) return this.#finish(next.value);
        if (!this.#take(next.value)) return;
      } catch (cause) {
        if (this.#waiting === undefined) throw cause;
        this.#blockedSinceMs = undefined;
        this.#waiting = undefined; // Cancelled: the handler receives the error where it waited.
        const next = this.#script.throw(cause);
        if (next.done === true) return this.#finish(next.value);
        if (!this.#take(next.value)) return;
      }
    }
  }

  /** False: a frame has to arrive first. */
  #take(request: ProgramRequest): boolean {
    if (request.kind === "wait") {
      this.#waiting = request;
      return true;
    }
    const { scheduler } = this.#world;
    this.#working = true;
    scheduler.after(request.ms * (0.5 + scheduler.random.float()), () => {
      this.#working = false;
      this.#advance();
    });
    return false;
  }

  #replayComplete(): boolean {
    return this.#start !== undefined && this.#entries === this.#start.knownEntries && this.#entries > 0;
  }

  #beginScript(): Generator<ProgramRequest, ValueOrFailure, void> {
    const start = this.#start as StartMessage;
    const parsed = parseInvocationId(start.debugId);
    const id = (parsed.ok ? parsed.value : "") as InvocationId;
    const { scheduler } = this.#world;
    return interpret({
      id,
      key: start.key,
      conversation: this.#conversation,
      state: new LocalState(this.#conversation, start),
      nowMs: () => scheduler.clock.nowMs(),
      thinkingMs: () => (scheduler.random.chance(0.2) ? scheduler.random.float() * scheduler.random.float() * 200 : 0),
      executed: () => this.#outside.executed(),
      propose: (completionId, result) => this.#propose(completionId, result),
      leaveOutside: (awakeable) => this.#outside.leave(awakeable),
    });
  }

  /** The handler is blocked: it suspends if no further frame can arrive. */
  #block(): void {
    this.#blockedSinceMs ??= this.#world.scheduler.clock.monotonicMs();
    const future = this.#conversation.remaining((this.#waiting as Extract<ProgramRequest, { kind: "wait" }>).future);
    const { random } = this.#world.scheduler;
    // An SDK may close an open stream whenever it is blocked.
    if (this.#requestEnded || random.chance(0.02)) return this.#suspend(future);
    if (this.#version >= 7 && random.chance(0.3)) {
      const awaiting = encodeControl({ kind: "awaitingOn", awaitingOn: withCancel(future), executingSideEffects: false }, 7);
      this.#send(MessageType.AwaitingOn, awaiting);
    }
  }

  #suspend(future: Future): void {
    const awaitingOn = this.#version >= 7 ? withCancel(future) : flat(future);
    this.#attempt.messages.suspended = true;
    this.#send(MessageType.Suspension, encodeControl({ kind: "suspension", awaitingOn }, this.#version));
    this.#close();
  }

  #propose(completionId: number, result: ValueOrFailure): void {
    const { random } = this.#world.scheduler;
    this.#proposed.set(completionId, result);
    this.#attempt.messages.proposed(completionId, result);
    const flags = this.#version >= 7 && random.chance(0.7) ? requestedAckFlag : 0;
    const proposal = encodeControl({ kind: "proposeRunCompletion", resultCompletionId: completionId, result }, this.#version);
    this.#send(MessageType.ProposeRunCompletion, proposal, flags);
  }

  #finish(result: ValueOrFailure): void {
    this.#conversation.command({ kind: "output", result, name: "" });
    if (this.#over) return;
    this.#attempt.messages.ended = true;
    this.#response.respond(endFrame);
    this.#close();
  }

  // ── writing ────────────────────────────────────────────────────────────────────────────────────

  #sendCommand(type: number, body: Uint8Array, flags = 0): void {
    const { random } = this.#world.scheduler;
    this.#commandsSent++;
    this.#attempt.messages.commands.set(this.#conversation.commandCount - 1, body);
    this.#send(type, body, random.chance(0.1) ? flags | requestedAckFlag : flags);
  }

  #send(type: number, body: Uint8Array, flags = 0): void {
    if (this.#over) return;
    if (this.#misfortune !== undefined && this.#commandsSent > this.#misfortune.afterCommands)
      return this.#meet(this.#misfortune);
    this.#response.respond(encodeFrame(type, body, flags));
  }

  /** Replaces the next write: the attempt ends here in one of the ways in which attempts end. */
  #meet(misfortune: Misfortune): void {
    const { random } = this.#world.scheduler;
    switch (misfortune.kind) {
      case "reset":
        this.#over = true;
        return this.#response.breakOff("the endpoint crashed");
      case "endOfStream":
        return this.#close();
      case "silence":
        this.#over = true;
        return;
      case "garbage":
        this.#response.respond(Uint8Array.of(0x12, 0x34, 0, 0, 0, 0, 0, 1, 7));
        return this.#close();
      case "error": {
        const error = {
          kind: "error",
          code: random.pick([500, 500, 570, 503]),
          message: "misfortune",
          stacktrace: "",
          relatedCommandIndex: undefined,
          relatedCommandName: undefined,
          relatedCommandType: undefined,
          nextRetryDelayMs: random.pick([undefined, 0, 30]),
          behavior: random.chance(0.1) ? "pause" : "retry",
        } as const;
        this.#response.respond(encodeFrame(MessageType.Error, encodeControl(error, this.#version)));
        return this.#close();
      }
    }
  }

  #close(): void {
    this.#over = true;
    this.#response.finish();
  }

  #wrong(detail: string): void {
    this.#world.ledger.attempts.mismatch(this.#attempt, detail);
  }
}

/** SDKs add the cancellation signal to every wait. */
function withCancel(future: Future): Future {
  const plainRoot = future.combinator === "firstCompleted" && future.nested.length === 0 && !future.signalIndexes.includes(1);
  if (plainRoot) return { ...future, signalIndexes: [...future.signalIndexes, 1] };
  return { completions: [], signalIndexes: [1], signalNames: [], nested: [future], combinator: "firstCompleted" };
}

/** Before protocol 7: any of all leaves of the future. */
function flat(future: Future): Future {
  return futureFromLists(waitingCompletions(future), [...waitingSignals(future), 1], waitingNamedSignals(future));
}
