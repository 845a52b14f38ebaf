/**
 * Frame body → `JournalCommand`. One loop for each message over the fields of §2.3; what the protocol marks as a choice
 * must have been made, so a command without its result or target is malformed (RT0012).
 */
import { EMPTY_BYTES, ProtoReader } from "@perdure/base";
import { decodeOrFault, type ProtocolFault, protocolViolation } from "../fault.js";
import type * as command from "../journal-command.js";
import { MessageType, messageTypeName } from "../message-type.js";
import { type Header, type ValueOrFailure, voidResult } from "../values.js";
import {
  decodeAttachInvocation,
  decodeCall,
  decodeCompleteAwakeable,
  decodeGetInvocationOutput,
  decodeOneWayCall,
  decodeSendSignal,
} from "./decode-outgoing.js";
import {
  lengthTag,
  missing,
  nameTag,
  readFailure,
  readHeader,
  readStateKeys,
  readValue,
  resultIdTag,
  varintTag,
} from "./nested.js";

/**
 * Decodes a command received from an SDK or read from a journal. Bytes in the result are views into `body`.
 * A fault is always RT0012: malformed wire format, a mandatory part missing, or a type that is not a command.
 */
export function decodeCommand(type: number, body: Uint8Array): command.JournalCommand | ProtocolFault {
  const decode = decoderOf(type);
  if (decode === undefined) return protocolViolation(`${messageTypeName(type)} is not a command`);
  return decodeOrFault(messageTypeName(type), decode, body);
}

function decoderOf(type: number): ((body: Uint8Array) => command.JournalCommand) | undefined {
  switch (type) {
    case MessageType.Input:
      return decodeInput;
    case MessageType.Output:
      return decodeOutput;
    case MessageType.GetLazyState:
      return decodeGetLazyState;
    case MessageType.SetState:
      return decodeSetState;
    case MessageType.ClearState:
      return decodeClearState;
    case MessageType.ClearAllState:
      return decodeClearAllState;
    case MessageType.GetLazyStateKeys:
      return decodeGetLazyStateKeys;
    case MessageType.GetEagerState:
      return decodeGetEagerState;
    case MessageType.GetEagerStateKeys:
      return decodeGetEagerStateKeys;
    case MessageType.GetPromise:
      return decodeGetPromise;
    case MessageType.PeekPromise:
      return decodePeekPromise;
    case MessageType.CompletePromise:
      return decodeCompletePromise;
    case MessageType.Sleep:
      return decodeSleep;
    case MessageType.Call:
      return decodeCall;
    case MessageType.OneWayCall:
      return decodeOneWayCall;
    case MessageType.SendSignal:
      return decodeSendSignal;
    case MessageType.Run:
      return decodeRun;
    case MessageType.AttachInvocation:
      return decodeAttachInvocation;
    case MessageType.GetInvocationOutput:
      return decodeGetInvocationOutput;
    case MessageType.CompleteAwakeable:
      return decodeCompleteAwakeable;
    default:
      return undefined;
  }
}

function decodeInput(body: Uint8Array): command.InputCommand {
  const headers: Header[] = [];
  let value: Uint8Array = EMPTY_BYTES;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) headers.push(readHeader(r));
    else if (tag === lengthTag(14)) value = readValue(r);
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return { kind: "input", headers, value, name };
}

/** Throws `ProtoError`; `outputResultOf` shares it. */
export function decodeOutput(body: Uint8Array): command.OutputCommand {
  let result: ValueOrFailure | undefined;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(14)) result = { kind: "value", value: readValue(r) };
    else if (tag === lengthTag(15)) result = { kind: "failure", failure: readFailure(r) };
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (result === undefined) throw missing("result");
  return { kind: "output", result, name };
}

function decodeGetLazyState(body: Uint8Array): command.GetLazyStateCommand {
  let stateKey: Uint8Array = EMPTY_BYTES;
  let resultCompletionId = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) stateKey = r.bytes();
    else if (tag === resultIdTag) resultCompletionId = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return { kind: "getLazyState", stateKey, resultCompletionId, name };
}

function decodeSetState(body: Uint8Array): command.SetStateCommand {
  let stateKey: Uint8Array = EMPTY_BYTES;
  let value: Uint8Array | undefined;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) stateKey = r.bytes();
    else if (tag === lengthTag(3)) value = readValue(r);
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (value === undefined) throw missing("value");
  return { kind: "setState", stateKey, value, name };
}

function decodeClearState(body: Uint8Array): command.ClearStateCommand {
  let stateKey: Uint8Array = EMPTY_BYTES;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) stateKey = r.bytes();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return { kind: "clearState", stateKey, name };
}

function decodeClearAllState(body: Uint8Array): command.ClearAllStateCommand {
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return { kind: "clearAllState", name };
}

function decodeGetLazyStateKeys(body: Uint8Array): command.GetLazyStateKeysCommand {
  const { resultCompletionId, name } = readIdAndName(body);
  return { kind: "getLazyStateKeys", resultCompletionId, name };
}

function decodeRun(body: Uint8Array): command.RunCommand {
  const { resultCompletionId, name } = readIdAndName(body);
  return { kind: "run", resultCompletionId, name };
}

function readIdAndName(body: Uint8Array): { resultCompletionId: number; name: string } {
  let resultCompletionId = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === resultIdTag) resultCompletionId = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return { resultCompletionId, name };
}

function decodeGetEagerState(body: Uint8Array): command.GetEagerStateCommand {
  let stateKey: Uint8Array = EMPTY_BYTES;
  let result: command.GetEagerStateCommand["result"] | undefined;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) stateKey = r.bytes();
    else if (tag === lengthTag(13)) {
      r.skip(2);
      result = voidResult;
    } else if (tag === lengthTag(14)) result = { kind: "value", value: readValue(r) };
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (result === undefined) throw missing("result");
  return { kind: "getEagerState", stateKey, result, name };
}

function decodeGetEagerStateKeys(body: Uint8Array): command.GetEagerStateKeysCommand {
  let stateKeys: readonly Uint8Array[] | undefined;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(14)) stateKeys = readStateKeys(r);
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (stateKeys === undefined) throw missing("value");
  return { kind: "getEagerStateKeys", stateKeys, name };
}

function decodeGetPromise(body: Uint8Array): command.GetPromiseCommand {
  const { key, resultCompletionId, name } = readPromiseRequest(body);
  return { kind: "getPromise", key, resultCompletionId, name };
}

function decodePeekPromise(body: Uint8Array): command.PeekPromiseCommand {
  const { key, resultCompletionId, name } = readPromiseRequest(body);
  return { kind: "peekPromise", key, resultCompletionId, name };
}

function readPromiseRequest(body: Uint8Array): { key: string; resultCompletionId: number; name: string } {
  let key = "";
  let resultCompletionId = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) key = r.string();
    else if (tag === resultIdTag) resultCompletionId = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return { key, resultCompletionId, name };
}

function decodeCompletePromise(body: Uint8Array): command.CompletePromiseCommand {
  let key = "";
  let completion: ValueOrFailure | undefined;
  let resultCompletionId = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) key = r.string();
    else if (tag === lengthTag(2)) completion = { kind: "value", value: readValue(r) };
    else if (tag === lengthTag(3)) completion = { kind: "failure", failure: readFailure(r) };
    else if (tag === resultIdTag) resultCompletionId = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (completion === undefined) throw missing("completion");
  return { kind: "completePromise", key, completion, resultCompletionId, name };
}

function decodeSleep(body: Uint8Array): command.SleepCommand {
  let wakeUpTimeMs = 0;
  let resultCompletionId = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === varintTag(1)) wakeUpTimeMs = r.uint64Number();
    else if (tag === resultIdTag) resultCompletionId = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return { kind: "sleep", wakeUpTimeMs, resultCompletionId, name };
}
