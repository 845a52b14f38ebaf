/**
 * One replay on the wire: Start and a journal are sent, the request is closed ("suspend when blocked"), and the first relevant message of
 * the endpoint is the result. Nothing that the endpoint sends is stored or carried out; at the first new command the stream is reset. A
 * sandbox instead takes all commands and results that the endpoint sends before it stops.
 */
import { type Clock, ProtoError, type TimerHandle, unreachable } from "@perdure/base";
import type {
  EndpointStream,
  EndpointTransport,
  StreamListener,
  StreamRequest,
  TransportFailure,
} from "@perdure/endpoint-transport";
import {
  decodeCommand,
  decodeControl,
  type ErrorMessage,
  encodeCompletion,
  type Frame,
  FrameDecoder,
  type Future,
  frameBodyBytesLimit,
  invocationContentType,
  isCommand,
  isFault,
  type JournalCommand,
  MessageType,
  type ProtocolVersion,
  protocolViolation,
  type RunProposal,
} from "@perdure/service-protocol";
import type { AttemptError, JournalEntry } from "@perdure/state-machine";
import {
  type AttemptFailure,
  endOfStreamFailure,
  failure,
  protocolFailure,
  reportedFailure,
  transportFailure,
} from "../attempt-failure.js";
import { Outgoing, type OutgoingFrame, type OutgoingSink } from "../outgoing.js";
import { type ResponseHeaders, responseFailure } from "../response-check.js";
import { CHECK_CHATTER_BYTES_MAX, CHECK_DRAIN_MS } from "./limits.js";

/**
 * How a replay ended. `wentOn`: the endpoint sent a command that the journal does not have, or the result of a step (`command` is
 * undefined then).
 */
export type ReplayEnd =
  | { readonly kind: "wentOn"; readonly command: JournalCommand | undefined }
  | { readonly kind: "suspended"; readonly awaitingOn: Future }
  | { readonly kind: "ended" }
  /** The SDK reported that code and journal differ (570, RT0016). */
  | { readonly kind: "mismatch"; readonly error: AttemptError }
  | { readonly kind: "failed"; readonly error: AttemptError };

export interface ReplayRequest {
  readonly request: StreamRequest;
  readonly version: ProtocolVersion;
  /** Start, followed by the journal. */
  readonly frames: readonly OutgoingFrame[];
  /** Receives what the endpoint does; absent: the first command or result ends the replay. */
  readonly taker?: ReplayTaker | undefined;
  /** Steps are executed, and passed to this listener with reads and writes of state; without it each of them ends the replay. */
  readonly onStep?: StepListener | undefined;
}

interface ReplayTaker {
  command(type: number, body: Uint8Array, command: JournalCommand): void;
  proposal(proposal: RunProposal): void;
}

/**
 * Commands after which a handler continues by itself: it reads the state that Start had, or writes to it. Nothing of them happens outside
 * of the invocation.
 */
export const STATE_COMMANDS: ReadonlySet<number> = new Set([
  MessageType.GetEagerState,
  MessageType.GetEagerStateKeys,
  MessageType.SetState,
  MessageType.ClearState,
  MessageType.ClearAllState,
]);

/**
 * Receives the entries of steps that the endpoint executes, a Run and a RunCompletion with its result, and those of `STATE_COMMANDS` between
 * them. The listener owns the bytes.
 */
export type StepListener = (entry: JournalEntry) => void;

export interface ReplayBounds {
  /** Infinite: no limit. */
  readonly timeoutMs: number;
  /** Nominal limit of one message. */
  readonly messageBytesMax: number;
}

/** Never rejects. Resolves when the stream is closed; an aborted `signal` makes the result a failure. */
export function replay(
  { transport, clock }: { readonly transport: EndpointTransport; readonly clock: Clock },
  request: ReplayRequest,
  bounds: ReplayBounds,
  signal: AbortSignal,
): Promise<ReplayEnd> {
  return new Promise((resolve) => {
    const stream = new ReplayStream(request, bounds, clock, (end) => {
      signal.removeEventListener("abort", onAbort);
      resolve(end);
    });
    const onAbort = () => stream.giveUp("the check was cancelled");
    stream.open(transport);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
  });
}

class ReplayStream implements StreamListener, OutgoingSink {
  readonly #request: ReplayRequest;
  readonly #bounds: ReplayBounds;
  readonly #clock: Clock;
  readonly #done: (end: ReplayEnd) => void;
  readonly #decoder: FrameDecoder;
  readonly #outgoing: Outgoing;
  #stream: EndpointStream | undefined;
  #timer: TimerHandle | undefined;
  #receivedBytes = 0;
  #end: ReplayEnd | undefined;
  #over = false;

  constructor(request: ReplayRequest, bounds: ReplayBounds, clock: Clock, done: (end: ReplayEnd) => void) {
    this.#request = request;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#done = done;
    this.#decoder = new FrameDecoder(frameBodyBytesLimit(bounds.messageBytesMax));
    this.#outgoing = new Outgoing(request.frames, this);
  }

  open(transport: EndpointTransport): void {
    if (Number.isFinite(this.#bounds.timeoutMs)) {
      this.#timer = this.#clock.setTimer(this.#bounds.timeoutMs, () =>
        this.#fail(failure("RT0001", "the endpoint sent no result for this journal in time")),
      );
    }
    this.#stream = transport.open(this.#request.request, this);
    this.#outgoing.flush();
    this.#outgoing.close();
  }

  giveUp(why: string): void {
    this.#fail(failure("RT0001", why));
  }

  // ── sending ────────────────────────────────────────────────────────────────────────────────────

  write(bytes: Uint8Array): boolean {
    return this.#stream?.write(bytes) ?? true;
  }
  halfClose(): void {
    this.#stream?.end();
  }
  requestFlush(): void {
    this.#outgoing.flush();
  }
  drain(): void {
    if (!this.#over) this.#outgoing.drained();
  }

  // ── receiving ──────────────────────────────────────────────────────────────────────────────────

  response(status: number, headers: ResponseHeaders): void {
    if (this.#end !== undefined) return;
    const wrong = responseFailure(status, headers, invocationContentType(this.#request.version), this.#clock.nowMs());
    if (wrong !== undefined) this.#fail(wrong);
  }

  data(chunk: Uint8Array): void {
    if (this.#end !== undefined) return;
    this.#receivedBytes += chunk.length;
    const bytesMax = frameBodyBytesLimit(this.#bounds.messageBytesMax) + CHECK_CHATTER_BYTES_MAX;
    if (this.#receivedBytes > bytesMax) return this.#fail(failure("RT0003", `the response is longer than ${bytesMax} bytes`));
    try {
      this.#decoder.push(chunk);
      for (let frame = this.#decoder.next(); frame !== undefined; frame = this.#decoder.next()) {
        this.#handle(frame);
        if (this.#end !== undefined) return;
      }
    } catch (cause) {
      if (!(cause instanceof ProtoError)) throw cause;
      return this.#fail(protocolFailure(protocolViolation(`malformed message: ${cause.message}`)));
    }
    const { fault } = this.#decoder;
    if (fault !== undefined) this.#fail(protocolFailure(fault));
  }

  end(): void {
    if (this.#end === undefined) this.#end = failed(endOfStreamFailure(this.#decoder.end()));
    this.#finish(false);
  }

  failed(cause: TransportFailure): void {
    this.#end ??= failed(transportFailure(cause)); // After the final message this has no effect.
    this.#finish(false);
  }

  #handle({ type, body }: Frame): void {
    const { taker } = this.#request;
    if (isCommand(type)) {
      const command = decodeCommand(type, body);
      if (isFault(command)) return this.#fail(protocolFailure(command));
      if (taker !== undefined) return taker.command(type, body.slice(), command);
      const isPassed = command.kind === "run" || STATE_COMMANDS.has(type);
      if (isPassed && this.#request.onStep !== undefined) return this.#step(type, new Uint8Array(body));
      return this.#cut({ kind: "wentOn", command });
    }
    const message = decodeControl(type, body, this.#request.version);
    if (isFault(message)) return this.#fail(protocolFailure(message));
    switch (message.kind) {
      case "proposeRunCompletion":
        if (taker !== undefined) return taker.proposal(message);
        if (this.#request.onStep !== undefined) {
          return this.#step(MessageType.RunCompletion, encodeCompletion(message.resultCompletionId, message.result));
        }
        return this.#cut({ kind: "wentOn", command: undefined });
      case "awaitingOn":
        return;
      case "suspension":
        return this.#handlerStopped({ kind: "suspended", awaitingOn: message.awaitingOn });
      case "end":
        return this.#handlerStopped({ kind: "ended" });
      case "error":
        return this.#handlerStopped(reported(message));
      default:
        return unreachable(message);
    }
  }

  #step(type: number, body: Uint8Array): void {
    this.#request.onStep?.({ type, body, appendedAtMs: this.#clock.nowMs() });
  }

  /** The handler has stopped by itself: its stream may end in order. */
  #handlerStopped(end: ReplayEnd): void {
    this.#end = end;
    this.#timer?.cancel();
    this.#outgoing.closeNow();
    this.#timer = this.#clock.setTimer(CHECK_DRAIN_MS, () => this.#finish(true));
  }

  /** The handler continues: stop it here. */
  #cut(end: ReplayEnd): void {
    this.#end = end;
    this.#finish(true);
  }

  #fail(cause: AttemptFailure): void {
    if (this.#end === undefined) this.#cut(failed(cause));
  }

  #finish(reset: boolean): void {
    if (this.#over || this.#end === undefined) return;
    this.#over = true;
    this.#timer?.cancel();
    this.#outgoing.abandon();
    if (reset) this.#stream?.abort();
    else this.#stream?.end();
    this.#done(this.#end);
  }
}

function failed({ error }: AttemptFailure): ReplayEnd {
  return { kind: "failed", error };
}

function reported(message: ErrorMessage): ReplayEnd {
  const { error } = reportedFailure(message);
  return { kind: error.errorCode === "RT0016" ? "mismatch" : "failed", error };
}
