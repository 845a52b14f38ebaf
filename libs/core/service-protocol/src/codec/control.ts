/**
 * Control messages (§2.2), which the two ends of a stream exchange and which are never stored. Those from the SDK are decoded and checked
 * here; those to the SDK are encoded, acks straight into frames.
 */
import { EMPTY_BYTES, ProtoReader, ProtoWriter, unreachable } from "@perdure/base";
import { decodeOrFault, type ProtocolFault, protocolViolation } from "../fault.js";
import { encodeFrame } from "../frame.js";
import { encodeFuture, type Future, FutureTooDeep, futureFromLists, isEmptyFuture, readFuture } from "../future.js";
import { MessageType, messageTypeName } from "../message-type.js";
import type { ValueOrFailure } from "../values.js";
import type { ProtocolVersion } from "../versions.js";
import { lengthTag, missing, readFailure, varintTag, writeFailure, writeNumber, writeText } from "./nested.js";

/** The handler waits and gives up its stream until the condition holds; never empty. */
interface Suspension {
  readonly kind: "suspension";
  readonly awaitingOn: Future;
}

/** Reaction to an error; an unsupported value means retry. Every version honours it (§2.2). */
type ErrorBehavior = "retry" | "pause" | "fail";

export interface ErrorMessage {
  readonly kind: "error";
  /** HTTP-like, 570…573 having meanings of their own (§6.3). */
  readonly code: number;
  readonly message: string;
  readonly stacktrace: string;
  readonly relatedCommandIndex: number | undefined;
  readonly relatedCommandName: string | undefined;
  /** A message type, e.g. `MessageType.Sleep`. */
  readonly relatedCommandType: number | undefined;
  /** Replaces the policy's delay for this one retry; 0 means at once. */
  readonly nextRetryDelayMs: number | undefined;
  readonly behavior: ErrorBehavior;
}

/** The attempt is over and its last Output is the invocation's result. */
interface EndMessage {
  readonly kind: "end";
}

/** Result of a closure the SDK ran, to be stored as a RunCompletion. */
export interface RunProposal {
  readonly kind: "proposeRunCompletion";
  readonly resultCompletionId: number;
  readonly result: ValueOrFailure;
}

/** v7, informational: what the handler waits for while its stream stays open. */
export interface AwaitingOn {
  readonly kind: "awaitingOn";
  readonly awaitingOn: Future;
  readonly executingSideEffects: boolean;
}

export type SdkControlMessage = Suspension | ErrorMessage | EndMessage | RunProposal | AwaitingOn;

const end: EndMessage = Object.freeze({ kind: "end" });

/**
 * Decodes a control message an SDK may send. Faults: RT0012 for malformed or incomplete ones, empty conditions and types
 * an SDK must not send; RT0025 for a future deeper than `futureDepthMax`.
 *
 * @param version the attempt's pinned version: it decides which shape of Suspension counts
 */
export function decodeControl(type: number, body: Uint8Array, version: ProtocolVersion): SdkControlMessage | ProtocolFault {
  switch (type) {
    case MessageType.Suspension:
      return decodeSuspension(body, version);
    case MessageType.Error:
      return decodeOrFault("Error", readError, body);
    case MessageType.End:
      return end;
    case MessageType.ProposeRunCompletion:
      return decodeProposeRunCompletion(body);
    case MessageType.AwaitingOn:
      return decodeAwaitingOn(body);
    default:
      return protocolViolation(`${messageTypeName(type)} is not a control message of an SDK`);
  }
}

function decodeSuspension(body: Uint8Array, version: ProtocolVersion): Suspension | ProtocolFault {
  const awaitingOn = decodeTree("Suspension", version >= 7 ? readSuspensionTree : readSuspensionLists, body);
  if (awaitingOn !== undefined && "kind" in awaitingOn) return awaitingOn;
  if (awaitingOn === undefined || isEmptyFuture(awaitingOn)) return protocolViolation("Suspension message awaits nothing");
  return { kind: "suspension", awaitingOn };
}

function decodeAwaitingOn(body: Uint8Array): AwaitingOn | ProtocolFault {
  return decodeTree("AwaitingOn", readAwaitingOn, body);
}

export function decodeProposeRunCompletion(body: Uint8Array): RunProposal | ProtocolFault {
  return decodeOrFault("ProposeRunCompletion", readProposal, body);
}

/** `decodeOrFault` for messages holding a future, whose depth has a code of its own. */
function decodeTree<T>(message: string, decode: (body: Uint8Array) => T, body: Uint8Array): T | ProtocolFault {
  try {
    return decodeOrFault(message, decode, body);
  } catch (cause) {
    if (cause instanceof FutureTooDeep) return { kind: "fault", code: "RT0025", detail: cause.message };
    throw cause;
  }
}

/** v5 and v6, fields 1 to 3. */
function readSuspensionLists(body: Uint8Array): Future {
  const completions: number[] = [];
  const signalIndexes: number[] = [];
  const signalNames: string[] = [];
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) r.packedUint32(completions);
    else if (tag === varintTag(1)) completions.push(r.uint32());
    else if (tag === lengthTag(2)) r.packedUint32(signalIndexes);
    else if (tag === varintTag(2)) signalIndexes.push(r.uint32());
    else if (tag === lengthTag(3)) signalNames.push(r.string());
    else r.skip(tag & 7);
  }
  return futureFromLists(completions, signalIndexes, signalNames);
}

/** v7, field 4; the older fields do not count. */
function readSuspensionTree(body: Uint8Array): Future | undefined {
  let awaitingOn: Future | undefined;
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(4)) awaitingOn = readFuture(r);
    else r.skip(tag & 7);
  }
  return awaitingOn;
}

function readAwaitingOn(body: Uint8Array): AwaitingOn {
  let awaitingOn: Future | undefined;
  let executingSideEffects = false;
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) awaitingOn = readFuture(r);
    else if (tag === varintTag(2)) executingSideEffects = r.bool();
    else r.skip(tag & 7);
  }
  if (awaitingOn === undefined) throw missing("awaited future");
  return { kind: "awaitingOn", awaitingOn, executingSideEffects };
}

/** Behaviours in the order of their numbers on the wire. */
const behaviors: readonly ErrorBehavior[] = ["retry", "pause", "fail"];

function readError(body: Uint8Array): ErrorMessage {
  let code = 0;
  let message = "";
  let stacktrace = "";
  let relatedCommandIndex: number | undefined;
  let relatedCommandName: string | undefined;
  let relatedCommandType: number | undefined;
  let nextRetryDelayMs: number | undefined;
  let behavior: ErrorBehavior = "retry";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === varintTag(1)) code = r.uint32();
    else if (tag === lengthTag(2)) message = r.string();
    else if (tag === lengthTag(3)) stacktrace = r.string();
    else if (tag === varintTag(4)) relatedCommandIndex = r.uint32();
    else if (tag === lengthTag(5)) relatedCommandName = r.string();
    else if (tag === varintTag(6)) relatedCommandType = r.uint32();
    else if (tag === varintTag(8)) nextRetryDelayMs = r.uint64Number();
    else if (tag === varintTag(9)) behavior = behaviors[r.uint32()] ?? "retry";
    else r.skip(tag & 7);
  }
  return {
    kind: "error",
    code,
    message,
    stacktrace,
    relatedCommandIndex,
    relatedCommandName,
    relatedCommandType,
    nextRetryDelayMs,
    behavior,
  };
}

/** Field 14 is bare bytes here, unlike every other value of the protocol (§2.2). */
function readProposal(body: Uint8Array): RunProposal {
  let resultCompletionId = 0;
  let result: ValueOrFailure | undefined;
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === varintTag(1)) resultCompletionId = r.uint32();
    else if (tag === lengthTag(14)) result = { kind: "value", value: r.bytes() };
    else if (tag === lengthTag(15)) result = { kind: "failure", failure: readFailure(r) };
    else r.skip(tag & 7);
  }
  if (result === undefined) throw missing("result");
  return { kind: "proposeRunCompletion", resultCompletionId, result };
}

/** One writer for all: encoding is synchronous and `finish` copies. */
const writer = new ProtoWriter();

/** Frame that confirms to the SDK that the command at `commandIndex` (commands only, Input being 0) is durable. */
export function commandAckFrame(commandIndex: number): Uint8Array {
  const w = writer.reset();
  writeNumber(w, 1, commandIndex);
  return encodeFrame(MessageType.CommandAck, w.finish());
}

/** v7: frame that confirms to the SDK that the result proposed for `completionId` is durable. */
export function proposeRunCompletionAckFrame(completionId: number): Uint8Array {
  const w = writer.reset();
  writeNumber(w, 1, completionId);
  return encodeFrame(MessageType.ProposeRunCompletionAck, w.finish());
}

/** Body of a control message as an SDK writes it; for simulated handlers and tests. */
export function encodeControl(message: SdkControlMessage, version: ProtocolVersion): Uint8Array {
  if (message.kind === "end") return EMPTY_BYTES;
  const w = writer.reset();
  switch (message.kind) {
    case "suspension":
      if (version >= 7) w.bytes(4, encodeFuture(message.awaitingOn));
      else {
        w.packedUint32(1, message.awaitingOn.completions);
        w.packedUint32(2, message.awaitingOn.signalIndexes);
        for (const name of message.awaitingOn.signalNames) w.string(3, name);
      }
      break;
    case "awaitingOn":
      w.bytes(1, encodeFuture(message.awaitingOn));
      if (message.executingSideEffects) w.bool(2, true);
      break;
    case "error":
      writeError(w, message);
      break;
    case "proposeRunCompletion":
      writeNumber(w, 1, message.resultCompletionId);
      if (message.result.kind === "value") w.bytes(14, message.result.value);
      else writeFailure(w, 15, message.result.failure);
      break;
    default:
      return unreachable(message);
  }
  return w.finish();
}

function writeError(w: ProtoWriter, message: ErrorMessage): void {
  writeNumber(w, 1, message.code);
  writeText(w, 2, message.message);
  writeText(w, 3, message.stacktrace);
  if (message.relatedCommandIndex !== undefined) w.uint32(4, message.relatedCommandIndex);
  if (message.relatedCommandName !== undefined) w.string(5, message.relatedCommandName);
  if (message.relatedCommandType !== undefined) w.uint32(6, message.relatedCommandType);
  if (message.nextRetryDelayMs !== undefined) w.uint64(8, message.nextRetryDelayMs);
  writeNumber(w, 9, behaviors.indexOf(message.behavior));
}
