/**
 * The commands that reach other invocations: calls, signals, attaching, awakeables. See `decode-command.ts`, which
 * dispatches to these; all of them throw `ProtoError` on malformed bodies.
 */
import { EMPTY_BYTES, ProtoReader } from "@perdure/base";
import type * as command from "../journal-command.js";
import { type Header, type ResultValue, type SignalId, type ValueOrFailure, voidResult } from "../values.js";
import {
  enter,
  leave,
  lengthTag,
  missing,
  nameTag,
  readFailure,
  readHeader,
  readValue,
  resultIdTag,
  varintTag,
} from "./nested.js";

export function decodeCall(body: Uint8Array): command.CallCommand {
  let serviceName = "";
  let handlerName = "";
  let key = "";
  let parameter: Uint8Array = EMPTY_BYTES;
  const headers: Header[] = [];
  let idempotencyKey: string | undefined;
  let scope: string | undefined;
  let limitKey: string | undefined;
  let invocationIdNotificationIdx = 0;
  let resultCompletionId = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) serviceName = r.string();
    else if (tag === lengthTag(2)) handlerName = r.string();
    else if (tag === lengthTag(3)) parameter = r.bytes();
    else if (tag === lengthTag(4)) headers.push(readHeader(r));
    else if (tag === lengthTag(5)) key = r.string();
    else if (tag === lengthTag(6)) idempotencyKey = r.string();
    else if (tag === lengthTag(7)) scope = r.string();
    else if (tag === lengthTag(8)) limitKey = r.string();
    else if (tag === varintTag(10)) invocationIdNotificationIdx = r.uint32();
    else if (tag === resultIdTag) resultCompletionId = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return {
    kind: "call",
    serviceName,
    handlerName,
    key,
    parameter,
    headers,
    idempotencyKey,
    scope,
    limitKey,
    invocationIdNotificationIdx,
    resultCompletionId,
    name,
  };
}

export function decodeOneWayCall(body: Uint8Array): command.OneWayCallCommand {
  let serviceName = "";
  let handlerName = "";
  let key = "";
  let parameter: Uint8Array = EMPTY_BYTES;
  const headers: Header[] = [];
  let idempotencyKey: string | undefined;
  let scope: string | undefined;
  let limitKey: string | undefined;
  let invocationIdNotificationIdx = 0;
  let invokeTimeMs = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) serviceName = r.string();
    else if (tag === lengthTag(2)) handlerName = r.string();
    else if (tag === lengthTag(3)) parameter = r.bytes();
    else if (tag === varintTag(4)) invokeTimeMs = r.uint64Number();
    else if (tag === lengthTag(5)) headers.push(readHeader(r));
    else if (tag === lengthTag(6)) key = r.string();
    else if (tag === lengthTag(7)) idempotencyKey = r.string();
    else if (tag === lengthTag(8)) scope = r.string();
    else if (tag === lengthTag(9)) limitKey = r.string();
    else if (tag === varintTag(10)) invocationIdNotificationIdx = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  return {
    kind: "oneWayCall",
    serviceName,
    handlerName,
    key,
    parameter,
    headers,
    idempotencyKey,
    scope,
    limitKey,
    invocationIdNotificationIdx,
    invokeTimeMs,
    name,
  };
}

export function decodeSendSignal(body: Uint8Array): command.SendSignalCommand {
  let targetInvocationId = "";
  let signal: SignalId | undefined;
  let result: ResultValue | undefined;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) targetInvocationId = r.string();
    else if (tag === varintTag(2)) signal = { kind: "signalIndex", index: r.uint32() };
    else if (tag === lengthTag(3)) signal = { kind: "signalName", name: r.string() };
    else if (tag === lengthTag(4)) {
      r.skip(2);
      result = voidResult;
    } else if (tag === lengthTag(5)) result = { kind: "value", value: readValue(r) };
    else if (tag === lengthTag(6)) result = { kind: "failure", failure: readFailure(r) };
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (signal === undefined) throw missing("signal id");
  if (result === undefined) throw missing("result");
  return { kind: "sendSignal", targetInvocationId, signal, result, name };
}

export function decodeAttachInvocation(body: Uint8Array): command.AttachInvocationCommand {
  const { target, resultCompletionId, name } = readAttachRequest(body);
  return { kind: "attachInvocation", target, resultCompletionId, name };
}

export function decodeGetInvocationOutput(body: Uint8Array): command.GetInvocationOutputCommand {
  const { target, resultCompletionId, name } = readAttachRequest(body);
  return { kind: "getInvocationOutput", target, resultCompletionId, name };
}

function readAttachRequest(body: Uint8Array): { target: command.AttachTarget; resultCompletionId: number; name: string } {
  let target: command.AttachTarget | undefined;
  let resultCompletionId = 0;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) target = { kind: "invocationId", invocationId: r.string() };
    else if (tag === lengthTag(3)) target = readIdempotentTarget(r);
    else if (tag === lengthTag(4)) target = readWorkflowTarget(r);
    else if (tag === resultIdTag) resultCompletionId = r.uint32();
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (target === undefined) throw missing("target");
  return { target, resultCompletionId, name };
}

function readIdempotentTarget(r: ProtoReader): command.AttachTarget {
  let serviceName = "";
  let serviceKey: string | undefined;
  let handlerName = "";
  let idempotencyKey = "";
  let scope: string | undefined;
  const outerEnd = enter(r);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) serviceName = r.string();
    else if (tag === lengthTag(2)) serviceKey = r.string();
    else if (tag === lengthTag(3)) handlerName = r.string();
    else if (tag === lengthTag(4)) idempotencyKey = r.string();
    else if (tag === lengthTag(5)) scope = r.string();
    else r.skip(tag & 7);
  }
  leave(r, outerEnd);
  return { kind: "idempotentRequest", serviceName, serviceKey, handlerName, idempotencyKey, scope };
}

function readWorkflowTarget(r: ProtoReader): command.AttachTarget {
  let workflowName = "";
  let workflowKey = "";
  let scope: string | undefined;
  const outerEnd = enter(r);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) workflowName = r.string();
    else if (tag === lengthTag(2)) workflowKey = r.string();
    else if (tag === lengthTag(3)) scope = r.string();
    else r.skip(tag & 7);
  }
  leave(r, outerEnd);
  return { kind: "workflow", workflowName, workflowKey, scope };
}

export function decodeCompleteAwakeable(body: Uint8Array): command.CompleteAwakeableCommand {
  let awakeableId = "";
  let result: ValueOrFailure | undefined;
  let name = "";
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(1)) awakeableId = r.string();
    else if (tag === lengthTag(2)) result = { kind: "value", value: readValue(r) };
    else if (tag === lengthTag(3)) result = { kind: "failure", failure: readFailure(r) };
    else if (tag === nameTag) name = r.string();
    else r.skip(tag & 7);
  }
  if (result === undefined) throw missing("result");
  return { kind: "completeAwakeable", awakeableId, result, name };
}
