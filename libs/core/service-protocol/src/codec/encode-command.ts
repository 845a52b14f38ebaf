/**
 * `JournalCommand` → frame body, fields in ascending order as every SDK writes them. The server itself writes only Input;
 * the rest serves simulated handlers and tests, which speak the real bytes.
 */
import { concatBytes, EMPTY_BYTES, ProtoWriter, unreachable } from "@perdure/base";
import type { AttachTarget, CallCommand, JournalCommand, OneWayCallCommand, SendSignalCommand } from "../journal-command.js";
import type { Header } from "../values.js";
import {
  writeBytes,
  writeHeaders,
  writeLong,
  writeNumber,
  writeOptionalText,
  writeResult,
  writeStateKeys,
  writeText,
  writeValue,
} from "./nested.js";

const resultIdField = 11;
const nameField = 12;

const NO_PIECES: readonly Uint8Array[] = [EMPTY_BYTES];

/** One writer for all: encoding is synchronous and `finish` copies. */
const writer = new ProtoWriter();

/**
 * Body of the Input command, the first entry of every journal. An empty value is still written (§15, 21).
 *
 * @param spaceBytes bytes in front of `value` in the same memory that the caller gives away with the value: when they suffice, the rest of
 * the body is written there, and a large value is not copied
 */
export function encodeInput(headers: readonly Header[], value: Uint8Array, spaceBytes = 0): Uint8Array {
  const pieces = encodeCommandInPieces({ kind: "input", headers, value, name: "" });
  const [head, last] = pieces;
  // The value is the last field.
  if (pieces.length === 2 && head !== undefined && last === value && head.length <= spaceBytes) {
    const whole = new Uint8Array(value.buffer, value.byteOffset - head.length, head.length + value.length);
    whole.set(head);
    return whole;
  }
  return pieces.length === 1 && head !== undefined ? head : concatBytes(...pieces);
}

function encodeCommandInPieces(command: JournalCommand): readonly Uint8Array[] {
  const w = writer.reset();
  writeCommand(w, command);
  return w.size === 0 ? NO_PIECES : w.finishInPieces();
}

/** Body of the command's frame; its type is `commandTypeOf[command.kind]`. */
export function encodeCommand(command: JournalCommand): Uint8Array {
  const w = writer.reset();
  writeCommand(w, command);
  return w.size === 0 ? EMPTY_BYTES : w.finish();
}

function writeCommand(w: ProtoWriter, command: JournalCommand): void {
  switch (command.kind) {
    case "input":
      writeHeaders(w, 1, command.headers);
      writeText(w, nameField, command.name);
      writeValue(w, 14, command.value);
      return;
    case "output":
      writeText(w, nameField, command.name);
      writeResult(w, command.result, 13, 14, 15);
      return;
    case "getLazyState":
      writeBytes(w, 1, command.stateKey);
      writeNumber(w, resultIdField, command.resultCompletionId);
      writeText(w, nameField, command.name);
      return;
    case "setState":
      writeBytes(w, 1, command.stateKey);
      writeValue(w, 3, command.value);
      writeText(w, nameField, command.name);
      return;
    case "clearState":
      writeBytes(w, 1, command.stateKey);
      writeText(w, nameField, command.name);
      return;
    case "clearAllState":
      writeText(w, nameField, command.name);
      return;
    case "getLazyStateKeys":
    case "run":
      writeNumber(w, resultIdField, command.resultCompletionId);
      writeText(w, nameField, command.name);
      return;
    case "getEagerState":
      writeBytes(w, 1, command.stateKey);
      writeText(w, nameField, command.name);
      writeResult(w, command.result, 13, 14, 15);
      return;
    case "getEagerStateKeys":
      writeText(w, nameField, command.name);
      writeStateKeys(w, 14, command.stateKeys);
      return;
    case "getPromise":
    case "peekPromise":
      writeText(w, 1, command.key);
      writeNumber(w, resultIdField, command.resultCompletionId);
      writeText(w, nameField, command.name);
      return;
    case "completePromise":
      writeText(w, 1, command.key);
      writeResult(w, command.completion, 13, 2, 3);
      writeNumber(w, resultIdField, command.resultCompletionId);
      writeText(w, nameField, command.name);
      return;
    case "sleep":
      writeLong(w, 1, command.wakeUpTimeMs);
      writeNumber(w, resultIdField, command.resultCompletionId);
      writeText(w, nameField, command.name);
      return;
    case "call":
      writeCall(w, command);
      return;
    case "oneWayCall":
      writeOneWayCall(w, command);
      return;
    case "sendSignal":
      writeSendSignal(w, command);
      return;
    case "attachInvocation":
    case "getInvocationOutput":
      writeAttachTarget(w, command.target);
      writeNumber(w, resultIdField, command.resultCompletionId);
      writeText(w, nameField, command.name);
      return;
    case "completeAwakeable":
      writeText(w, 1, command.awakeableId);
      writeResult(w, command.result, 13, 2, 3);
      writeText(w, nameField, command.name);
      return;
    default:
      unreachable(command);
  }
}

function writeCall(w: ProtoWriter, command: CallCommand): void {
  writeText(w, 1, command.serviceName);
  writeText(w, 2, command.handlerName);
  writeBytes(w, 3, command.parameter);
  writeHeaders(w, 4, command.headers);
  writeText(w, 5, command.key);
  writeOptionalText(w, 6, command.idempotencyKey);
  writeOptionalText(w, 7, command.scope);
  writeOptionalText(w, 8, command.limitKey);
  writeNumber(w, 10, command.invocationIdNotificationIdx);
  writeNumber(w, resultIdField, command.resultCompletionId);
  writeText(w, nameField, command.name);
}

function writeOneWayCall(w: ProtoWriter, command: OneWayCallCommand): void {
  writeText(w, 1, command.serviceName);
  writeText(w, 2, command.handlerName);
  writeBytes(w, 3, command.parameter);
  writeLong(w, 4, command.invokeTimeMs);
  writeHeaders(w, 5, command.headers);
  writeText(w, 6, command.key);
  writeOptionalText(w, 7, command.idempotencyKey);
  writeOptionalText(w, 8, command.scope);
  writeOptionalText(w, 9, command.limitKey);
  writeNumber(w, 10, command.invocationIdNotificationIdx);
  writeText(w, nameField, command.name);
}

function writeSendSignal(w: ProtoWriter, command: SendSignalCommand): void {
  writeText(w, 1, command.targetInvocationId);
  // A choice is written even when it is zero or empty: its presence shows which variant it is.
  if (command.signal.kind === "signalIndex") w.uint32(2, command.signal.index);
  else w.string(3, command.signal.name);
  writeResult(w, command.result, 4, 5, 6);
  writeText(w, nameField, command.name);
}

function writeAttachTarget(w: ProtoWriter, target: AttachTarget): void {
  switch (target.kind) {
    case "invocationId":
      w.string(1, target.invocationId);
      return;
    case "idempotentRequest":
      w.fork(3);
      writeText(w, 1, target.serviceName);
      writeOptionalText(w, 2, target.serviceKey);
      writeText(w, 3, target.handlerName);
      writeText(w, 4, target.idempotencyKey);
      writeOptionalText(w, 5, target.scope);
      w.join();
      return;
    case "workflow":
      w.fork(4);
      writeText(w, 1, target.workflowName);
      writeText(w, 2, target.workflowKey);
      writeOptionalText(w, 3, target.scope);
      w.join();
      return;
    default:
      unreachable(target);
  }
}
